"""Getting hold of a Ray cluster: one of this machine's own, that nobody else can reach, or one there is."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from parsity.errors import ParsityError, UsageError
from parsity.study.extras import needed

LOOPBACK = "127.0.0.1"
OBJECT_STORE = 2**30  # bytes, of a cluster of our own: a data set, and a checkpoint on its way from each worker
LONGEST = 20  # characters of a temporary folder; Ray makes sockets deep below it, and their names may have 107
# Where it is "0", Ray makes its address that of the loopback device, and all of its servers listen there alone.
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


def library(*, alone: bool) -> ModuleType:
    """Ray, told to report to nobody, and to listen to this machine only where it is ``alone``."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if alone:
        os.environ[LOOPBACK_ONLY] = "0"
    return needed("ray", extra="ray", to="executor ray")


class Cluster:
    """A connection; closed, it leaves a cluster it found running, and ends one of its own."""

    def __init__(self, address: str | None, *, cpus: int, gpus: int | None = None) -> None:
        """Connect to the cluster at ``address``, or start one of ``cpus`` here."""
        self.ray: Any = library(alone=address is None)
        self._folder: Path | None = None
        self._ours = not self.ray.is_initialized()
        self.address = address or LOOPBACK
        if not self._ours:
            return
        options: dict[str, Any] = {
            "configure_logging": False,
            "include_dashboard": False,
            "log_to_driver": False,
            "logging_level": logging.ERROR,
        }
        if address is None:
            short = len(tempfile.gettempdir()) <= LONGEST
            self._folder = Path(tempfile.mkdtemp(prefix="parsity-ray-", dir=None if short else "/tmp"))  # noqa: S108 - private
            options |= {
                "address": "local",
                "num_cpus": cpus,
                "num_gpus": gpus,
                "object_store_memory": OBJECT_STORE,
                "_temp_dir": str(self._folder),
            }
        else:
            options = {"address": address} | {key: options[key] for key in ("log_to_driver", "logging_level")}
        try:
            with _own_signals(), _quiet():
                self.ray.init(**options)
        except Exception as error:
            self.close()
            raise (
                UsageError(f"address {address}: {_first_line(error)}")
                if address
                else ParsityError(f"executor ray: no cluster could be started here: {_first_line(error)}")
            ) from error
        if address is None and self.ray.util.get_node_ip_address() != LOOPBACK:
            self.close()
            raise ParsityError(
                f"executor ray: Ray was imported before Parsity and would listen beyond {LOOPBACK}; "
                f"set {LOOPBACK_ONLY}=0 before it is"
            )

    def slots(self, resources: dict[str, float]) -> int:
        """How many workers that need ``resources`` the cluster has room for, empty."""
        total = self.ray.cluster_resources()
        return min(int(total.get(name, 0) // amount) for name, amount in resources.items())

    def here(self) -> Any:
        """The strategy that puts an actor or a task on the driver's own machine."""
        strategy = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        return strategy(node_id=self.ray.get_runtime_context().get_node_id(), soft=False)

    def close(self) -> None:
        """Disconnect; a cluster of our own ends, and leaves nothing behind."""
        if self._ours:
            with _own_signals(), _quiet():
                self.ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ray puts handlers of its own in place of the driver's; put them back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
