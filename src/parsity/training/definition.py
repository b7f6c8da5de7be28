"""A workload: data set, network, optimiser and schedule, with its goals, check interval and step limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from parsity.data import Dataset, Split, load, split
from parsity.errors import UsageError
from parsity.metaparameters import Integer, Log, ReverseLog, Scale, Space
from parsity.models import NetworkFactory, make_network
from parsity.optimisation import metaparameter_names
from parsity.pruning import Eligible
from parsity.training.goal_test import most_mistakes

LEARNING_RATE = Log(1e-4, 1.0)
MOMENTUM = ReverseLog(0.9, 0.9999)
DECAY_STEPS = Integer(30_000, 60_000)
END_FACTOR = Log(1e-4, 1e-1)

SCORING_BATCH = 100  # the protocol's batches of SNIP


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is trained, with what, to which error.

    ``data`` and ``network`` are built-in names, import paths (``package.module:function``) or live objects: a
    `Dataset`, and a callable that makes a module. ``goals`` are errors on the validation split, each asked about every
    ``check_interval`` steps until ``step_limit``; the same runs serve them all.
    """

    data: str | Dataset | Callable[[], Dataset]
    network: str | NetworkFactory
    goals: tuple[float, ...]
    name: str = "own"
    optimiser: str = "momentum"
    schedule: str = "constant"
    space: Space = field(default_factory=lambda: Space({}))  # empty: the paper's ranges
    check_interval: int = 16
    step_limit: int = 40_000
    criterion: str = "snip"
    eligible: Eligible = "all"

    def __post_init__(self) -> None:
        if not self.space.scales:
            object.__setattr__(self, "space", default_space(self.optimiser, self.schedule))
        object.__setattr__(self, "goals", tuple(sorted(set(map(float, self.goals)))))
        if not self.goals:
            raise UsageError(f"workload {self.name}: it needs at least one goal")
        for goal in self.goals:
            most_mistakes(goal, 1)
        if self.check_interval < 1 or self.step_limit < 1 or self.step_limit % self.check_interval:
            raise UsageError(
                f"workload {self.name}: check interval {self.check_interval} and step limit {self.step_limit}; "
                "the limit must be a positive multiple of the interval"
            )
        needed, optional = metaparameter_names(self.optimiser, self.schedule)
        given = set(self.space.scales)
        if needed - given or given - needed - optional:
            raise UsageError(
                f"workload {self.name}: the search space has {', '.join(sorted(given)) or 'nothing'}; {self.optimiser} "
                f"with {self.schedule} schedule needs {', '.join(sorted(needed))} and may have "
                f"{', '.join(sorted(optional)) or 'nothing else'}"
            )

    def with_(self, **changes: Any) -> Workload:
        """The same workload with some of its fields changed."""
        return replace(self, **changes)

    def load_data(self, folder: Path | None = None) -> Dataset:
        """The data set, from ``folder`` where it is a built-in one that lies there."""
        if isinstance(self.data, Dataset):
            return self.data
        if isinstance(self.data, str):
            return load(self.data, folder=folder)
        return self.data()

    def make_network(self, seed: int) -> nn.Module:
        """The network with the initial weights of ``seed``."""
        return make_network(self.network, seed=seed)


def default_space(optimiser: str, schedule: str) -> Space:
    """The paper's ranges for what ``optimiser`` and ``schedule`` need."""
    ranges: dict[str, Scale] = {
        "learning_rate": LEARNING_RATE,
        "momentum": MOMENTUM,
        "decay_steps": DECAY_STEPS,
        "end_learning_rate_factor": END_FACTOR,
    }
    needed, _ = metaparameter_names(optimiser, schedule)
    unusual = sorted(needed - set(ranges))
    if unusual:
        raise UsageError(
            f"{optimiser} with {schedule} schedule: no usual range for {', '.join(unusual)}; give a search space"
        )
    return Space({name: scale for name, scale in ranges.items() if name in needed})


@dataclass(frozen=True)
class ScoringBatches:
    """One whole pass of the training split in batches of 100, in the split's order; iterable again and again."""

    dataset: Dataset
    train: Tensor

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.train), SCORING_BATCH):
            batch = self.train[start : start + SCORING_BATCH]
            yield self.dataset.normalise(self.dataset.images[batch]), self.dataset.labels[batch]

    def __len__(self) -> int:
        return -(-len(self.train) // SCORING_BATCH)


def scoring_batches(dataset: Dataset) -> ScoringBatches:
    """The batches that pruning criteria see."""
    parts: Split = split(len(dataset.images))
    return ScoringBatches(dataset, parts.train)
