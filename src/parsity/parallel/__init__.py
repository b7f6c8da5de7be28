"""Synchronous data parallelism: several workers share every batch of a trial, and average their gradients.

`train` trains with processes of this machine, `step_times` measures what steps cost with them; `joined_by_torchrun`
makes this process one of the ranks that torchrun started, for a job (`TrainingJob`, `TimingJob`) to run on.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parsity.parallel.job import Ask, Job, Say
from parsity.parallel.losing import TIMEOUT, FailedRankError, LostRankError
from parsity.parallel.slices import slice_of

if TYPE_CHECKING:
    from parsity.parallel.cell import ParallelCell
    from parsity.parallel.engine import ParallelEngine
    from parsity.parallel.group import Group, device_of, joined, joined_by_torchrun, started_by_torchrun
    from parsity.parallel.launching import launch
    from parsity.parallel.result import ParallelResult
    from parsity.parallel.shard import ParallelShard
    from parsity.parallel.timing import TimingJob, step_times
    from parsity.parallel.training import TrainingJob, train

_HOMES = {
    "Group": "group",
    "ParallelCell": "cell",
    "ParallelEngine": "engine",
    "ParallelResult": "result",
    "ParallelShard": "shard",
    "TimingJob": "timing",
    "TrainingJob": "training",
    "device_of": "group",
    "joined": "group",
    "joined_by_torchrun": "group",
    "launch": "launching",
    "started_by_torchrun": "group",
    "step_times": "timing",
    "train": "training",
}

__all__ = [
    "TIMEOUT",
    "Ask",
    "FailedRankError",
    "Group",
    "Job",
    "LostRankError",
    "ParallelCell",
    "ParallelEngine",
    "ParallelResult",
    "ParallelShard",
    "Say",
    "TimingJob",
    "TrainingJob",
    "device_of",
    "joined",
    "joined_by_torchrun",
    "launch",
    "slice_of",
    "started_by_torchrun",
    "step_times",
    "train",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
