"""What the analysis begins with: curves of cells over the batch size, each cell its trials' outcomes for one goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from parsity.results import CellResult, Complete, Outcome, Outpaced, Status, TrialResult

Value = float | int | str


@dataclass(frozen=True)
class Point:
    """A complete trial: it met the goal for the first time in (``last_miss``, ``step``]."""

    number: int
    step: int
    last_miss: int
    metaparameters: Mapping[str, Value]

    @property
    def middle(self) -> float:
        """The mean of the whole steps in (last_miss, step]."""
        return (self.last_miss + 1 + self.step) / 2


@dataclass(frozen=True, kw_only=True)
class CurveCell:
    """One cell's outcomes for one goal."""

    batch_size: int
    sparsity: float
    goal: float
    patience: float
    trials: tuple[TrialResult, ...]

    @classmethod
    def of(cls, cell: CellResult, goal: float) -> CurveCell:
        """The part of ``cell`` that is about ``goal``."""
        trials = tuple(sorted(cell.trials, key=lambda trial: trial.number))
        return cls(batch_size=cell.batch_size, sparsity=cell.sparsity, goal=goal, patience=cell.patience, trials=trials)

    @property
    def n(self) -> int:
        """How many trials there are."""
        return len(self.trials)

    def outcome(self, trial: TrialResult) -> Outcome:
        """How ``trial`` ended for this goal."""
        return trial.outcomes[self.goal]

    @cached_property
    def complete(self) -> tuple[Point, ...]:
        """The complete trials, the fewest steps first; ties go to the lowest number."""
        found = [
            Point(trial.number, outcome.step, outcome.last_miss, trial.metaparameters)
            for trial in self.trials
            if isinstance(outcome := self.outcome(trial), Complete)
        ]
        return tuple(sorted(found, key=lambda point: (point.step, point.number)))

    @property
    def best(self) -> Point | None:
        """The trial whose steps are K*."""
        return self.complete[0] if self.complete else None

    @cached_property
    def counts(self) -> dict[Status, int]:
        """How many trials ended in each way."""
        return dict(Counter(self.outcome(trial).status for trial in self.trials))

    @property
    def outpaced(self) -> tuple[TrialResult, ...]:
        """The trials of which is known only that they need more than patience x K* steps, if they end at all."""
        return tuple(trial for trial in self.trials if isinstance(self.outcome(trial), Outpaced))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the trials, ascending."""
        return tuple(trial.number for trial in self.trials)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The cells of one workload, goal and sparsity over the batch size, smallest first."""

    name: str
    goal: float
    sparsity: float
    cells: tuple[CurveCell, ...]

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """The batch sizes measured."""
        return tuple(cell.batch_size for cell in self.cells)

    @property
    def trials(self) -> int:
        """The most trials that any of its cells has."""
        return max((cell.n for cell in self.cells), default=0)


def curves(cells: Iterable[CellResult], name: str | None = None) -> tuple[Curve, ...]:
    """The curves of a study by goal and sparsity; cells without a single trial are left out."""
    found = [cell for cell in cells if cell.trials]
    goals = sorted({goal for cell in found for goal in cell.goals})
    made = []
    for goal in goals:
        for sparsity in sorted({cell.sparsity for cell in found}):
            chosen = [cell for cell in found if cell.sparsity == sparsity and goal in cell.goals]
            parts = tuple(CurveCell.of(cell, goal) for cell in sorted(chosen, key=lambda cell: cell.batch_size))
            if parts:
                made.append(Curve(name=name or chosen[0].workload, goal=goal, sparsity=sparsity, cells=parts))
    return tuple(made)
