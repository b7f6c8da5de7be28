"""Is the cost model to be believed? Predicted against measured, for what it was fitted to and for what it was not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from parsity.errors import UsageError
from parsity.planning.cost_model import CostModel, Step, fit_cost_model
from parsity.results import StepTime, StepTimes


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One measured row and what the model says of it."""

    slice_size: int
    workers: int
    sparsity: float
    measured: Step
    predicted: Step

    @property
    def error(self) -> float:
        """Predicted over measured, less one, of the whole step."""
        return self.predicted.seconds / self.measured.seconds - 1


@dataclass(frozen=True, kw_only=True)
class Validation:
    """``fitted``: all rows, by the model of all rows. ``held_out``: each (b, W) by a model of all others."""

    fitted: tuple[Compared, ...]
    held_out: tuple[Compared, ...]

    @property
    def judged(self) -> tuple[Compared, ...]:
        """What the errors that enter intervals are taken from: the held-out ones where there are any."""
        return self.held_out or self.fitted

    def spread(self, part: str) -> float:
        """The standard deviation of log(predicted / measured) of compute or exchange; outliers count little."""
        logs = [
            math.log(getattr(one.predicted, part) / getattr(one.measured, part))
            for one in self.judged
            if getattr(one.predicted, part) > 0 and getattr(one.measured, part) > 0
        ]
        return float(np.median(np.abs(logs))) / 0.6745 if logs else 0.0


def validate(times: StepTimes, model: CostModel) -> Validation:
    """Compare; each combination of b and W, at all sparsities, is left out in turn."""
    pairs = sorted({(row.slice_size, row.workers) for row in times.rows})
    held_out: list[Compared] = []
    for pair in pairs:
        rest = tuple(row for row in times.rows if (row.slice_size, row.workers) != pair)
        try:
            without = fit_cost_model(replace(times, rows=rest))
        except UsageError:
            continue  # too few rows are left to fit anything
        if pair[1] > 1 and not without.knows_exchange:
            continue
        held_out += _compare(without, [row for row in times.rows if (row.slice_size, row.workers) == pair])
    return Validation(fitted=tuple(_compare(model, times.rows)), held_out=tuple(held_out))


def middle_and_worst(compared: Sequence[Compared]) -> tuple[float, float]:
    """The median and the largest of the absolute relative errors."""
    errors = [abs(one.error) for one in compared]
    return (float(np.median(errors)), max(errors)) if errors else (math.nan, math.nan)


def _compare(model: CostModel, rows: Sequence[StepTime]) -> list[Compared]:
    found = []
    for row in rows:
        predicted = model.step(row.slice_size, row.workers, row.sparsity)
        if row.seconds > 0 and math.isfinite(predicted.seconds):
            found.append(
                Compared(
                    slice_size=row.slice_size,
                    workers=row.workers,
                    sparsity=row.sparsity,
                    measured=Step(row.compute, row.exchange),
                    predicted=predicted,
                )
            )
    return found
