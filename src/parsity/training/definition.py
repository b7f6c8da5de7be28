"""A workload: data set, network, optimiser and schedule, with its goals, check interval and step limit.

A description, which needs no torch; that is imported when its data or its network is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from parsity.errors import UsageError
from parsity.metaparameters import Integer, Log, ReverseLog, Scale, Space
from parsity.optimisation import metaparameter_names
from parsity.training.goals import most_mistakes

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

    from parsity.data import Dataset
    from parsity.models import NetworkFactory
    from parsity.pruning import Eligible

USUAL_RANGES: Mapping[str, Scale] = MappingProxyType(
    {
        "learning_rate": Log(1e-4, 1.0),
        "momentum": ReverseLog(0.9, 0.9999),
        "decay_steps": Integer(30_000, 60_000),
        "end_learning_rate_factor": Log(1e-4, 1e-1),
    }
)
"""The paper's, in the order of the search sequence's dimensions."""


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
        from parsity.data import Dataset, load

        if isinstance(self.data, Dataset):
            return self.data
        if isinstance(self.data, str):
            return load(self.data, folder=folder)
        return self.data()

    def make_network(self, seed: int) -> nn.Module:
        """The network with the initial weights of ``seed``."""
        from parsity.models import make_network

        return make_network(self.network, seed=seed)


def default_space(optimiser: str, schedule: str) -> Space:
    """The paper's ranges for what ``optimiser`` and ``schedule`` need."""
    needed, _ = metaparameter_names(optimiser, schedule)
    unusual = sorted(needed - set(USUAL_RANGES))
    if unusual:
        raise UsageError(
            f"{optimiser} with {schedule} schedule: no usual range for {', '.join(unusual)}; give a search space"
        )
    return Space({name: scale for name, scale in USUAL_RANGES.items() if name in needed})
