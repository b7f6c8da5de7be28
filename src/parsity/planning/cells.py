"""Cells as a scheduler sees them: when each trial would end by itself, and what its steps cost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

CellKey = tuple[int, float]
"""Batch size and sparsity."""


@dataclass(frozen=True)
class End:
    """A trial left alone ends at this step: at the goal, or by diverging or at the step limit."""

    step: float
    complete: bool


@dataclass(frozen=True, kw_only=True)
class SimulatedCell:
    """One cell; ``ends`` by trial number less one."""

    key: CellKey
    ends: tuple[End, ...]
    step_seconds: float
    """Of one trial."""
    patience: float = 1.0
    expected: float = 0.0
    """Core-seconds that the driver expects of the whole cell."""

    @cached_property
    def best(self) -> float:
        """K*; infinite where no trial is complete."""
        return min((end.step for end in self.ends if end.complete), default=float("inf"))

    @cached_property
    def steps_needed(self) -> tuple[float, ...]:
        """For each trial, the steps without which the outcome is not known: to its end, or to patience x K*."""
        return tuple(min(end.step, self.patience * self.best) for end in self.ends)

    @property
    def needed(self) -> float:
        """Core-seconds of those."""
        return sum(self.steps_needed) * self.step_seconds

    @property
    def chain(self) -> float:
        """Seconds of the longest of its trials: no number of cores makes the cell faster."""
        return max(self.steps_needed) * self.step_seconds


class Lockstep:
    """Some trials that advance together, one thread: from the common step to seconds of computing and back.

    G(s) = step_seconds x sum_i min(e_i, s)
    """

    def __init__(self, cell: SimulatedCell, trials: Sequence[int]) -> None:
        self._ends = sorted(cell.ends[number - 1].step for number in trials)
        self._sums = [0.0, *accumulate(self._ends)]
        self._cost = cell.step_seconds
        own = [cell.ends[number - 1].step for number in trials if cell.ends[number - 1].complete]
        self.best = min(own, default=float("inf"))
        """The fewest steps of those of its trials that complete."""
        self.last = self._ends[-1]
        self._at_ends = [self.seconds(end) for end in self._ends]

    def seconds(self, step: float) -> float:
        """G."""
        ended = bisect_left(self._ends, step)
        return self._cost * (self._sums[ended] + (len(self._ends) - ended) * step)

    def step(self, seconds: float) -> float:
        """The common step after so many seconds of computing; the last end where all are done."""
        place = bisect_left(self._at_ends, seconds)
        if place == len(self._ends):
            return self.last
        start, before = (self._ends[place - 1], self._at_ends[place - 1]) if place else (0.0, 0.0)
        return start + (seconds - before) / (self._cost * (len(self._ends) - place))
