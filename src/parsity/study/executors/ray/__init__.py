"""Studies on Ray: a cluster of this machine's own, or one there is. Needs the extra ``parsity[ray]``."""

from parsity.study.executors.ray.executor import RayExecutor

__all__ = ["RayExecutor"]
