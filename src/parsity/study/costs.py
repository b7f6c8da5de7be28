"""What cells are expected to take: a rough law to begin with, corrected by every cell that finishes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from parsity.results import CellResult
from parsity.study.estimates import PACES
from parsity.study.spec import StudySpec

CellKey = tuple[int, float]
"""Batch size and sparsity."""

BEGINNING_SPREAD = 1.0  # before any cell has finished, a cell may well take e times as long as expected
REACH = 2.0  # octaves of batch size over which one cell tells about another


@dataclass
class Costs:
    """Core-seconds per cell.

    The law is seconds = trials x min(patience x steps, limit) x (batch size + overhead) / images per second, with steps
    = linear / batch size + floor (`estimates`). Each finished cell tells by which factor the law was off near it; in
    logarithms, and the nearer the cell, the more it counts.
    """

    spec: StudySpec
    _errors: dict[CellKey, float] = field(default_factory=dict)

    def seconds(self, cell: CellKey, trials: int) -> float:
        """Expected core-seconds of ``trials`` trials of ``cell``."""
        return self._law(cell, trials) * math.exp(self._correction(cell))

    def learn(self, cell: CellKey, trials: int, seconds: float) -> None:
        """A cell's trials have taken so long."""
        if seconds > 0 and trials:
            self._errors[cell] = math.log(seconds / self._law(cell, trials))

    def learn_from(self, cells: Iterable[CellResult]) -> None:
        """These cells are stored, with the seconds of their trials."""
        for cell in cells:
            seconds = sum(trial.seconds for trial in cell.trials)
            self.learn((cell.batch_size, cell.sparsity), len(cell.trials), seconds)

    @property
    def spread(self) -> float:
        """The standard deviation of log(actual / expected): how far off the next cell may be."""
        if len(self._errors) < 3:
            return BEGINNING_SPREAD
        residuals = [error - self._correction(cell, without=cell) for cell, error in self._errors.items()]
        return math.sqrt(sum(r * r for r in residuals) / len(residuals))

    def doubt(self, parts: Sequence[float]) -> float:
        """By which factor the sum of these expectations may be off, either way, two times in three."""
        # Errors of single cells average out over many, but the law may be off for all of them together.
        many = math.sqrt(sum(part * part for part in parts)) / (sum(parts) or 1.0)
        return math.exp(self.spread * (0.3 + 0.7 * many))

    def _correction(self, cell: CellKey, *, without: CellKey | None = None) -> float:
        total = weight = 0.0
        for other, error in self._errors.items():
            if other != without:
                distance = abs(math.log2(cell[0] / other[0])) / REACH + 2 * abs(cell[1] - other[1])
                nearness = math.exp(-distance)
                total, weight = total + nearness * error, weight + nearness
        return total / weight if weight else 0.0

    def _law(self, cell: CellKey, trials: int) -> float:
        pace = PACES.get(self.spec.ingredients.network, PACES["simple-cnn"])
        batch_size, sparsity = cell
        steps = min(self.spec.patience * pace.steps(batch_size, sparsity), self.spec.step_limit)
        return trials * steps * (batch_size + pace.overhead) / pace.images
