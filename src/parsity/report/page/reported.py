"""A study as the page takes it: plain values, gathered by whoever can open studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from parsity.analysis import MeasuredStudy
from parsity.planning import Plan


@dataclass(frozen=True, kw_only=True)
class CellProgress:
    """How far one cell is, in trials; ``due`` are those that a next run would begin with."""

    batch_size: int
    sparsity: float
    planned: int
    due: int
    set_aside: int


@dataclass(frozen=True, kw_only=True)
class SetAsideTrials:
    """Trials of one cell that could not be finished, and why."""

    batch_size: int
    sparsity: float
    numbers: str
    reason: str
    attempts: int


@dataclass(frozen=True, kw_only=True)
class ReportedStudy:
    """What is measured of a study, how far it is, and where it comes from.

    ``measured.name`` tells it from the others on the page. ``spec`` is the text of its study file; ``runs`` are as the
    store notes them; ``driver`` is the process at work on it, if any.
    """

    measured: MeasuredStudy
    goals: tuple[float, ...]
    patience: float
    progress: tuple[CellProgress, ...]
    set_asides: tuple[SetAsideTrials, ...] = ()
    driver: int | None = None
    identity: str = ""
    digest: str = ""
    spec: str = ""
    runs: tuple[Mapping[str, Any], ...] = ()
    image_passes: int = 0
    seconds: float = 0.0
    plans: tuple[Plan, ...] = ()
    """How many workers, for each goal that was reached, where step times are known."""

    @property
    def name(self) -> str:
        """What it is called on the page."""
        return self.measured.name

    def plan(self, goal: float) -> Plan | None:
        """The plan for ``goal``."""
        return next((plan for plan in self.plans if plan.goal == goal), None)

    @property
    def unfinished(self) -> int:
        """The cells with trials still to be run."""
        return sum(cell.due > 0 for cell in self.progress)

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """The metaparameters that differ between trials, in the space's order."""
        seen: dict[str, set[Any]] = {}
        for cell in self.measured.cells:
            for trial in cell.trials:
                for name, value in trial.metaparameters.items():
                    seen.setdefault(name, set()).add(value)
        return tuple(name for name, values in seen.items() if len(values) > 1)
