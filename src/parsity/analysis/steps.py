"""Steps-to-result: K* of a cell, with what it would have been in other searches of the same size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parsity.analysis.curve import CurveCell, Value
from parsity.analysis.estimate import Estimate, unknown
from parsity.analysis.resampling import CellDraws
from parsity.results import Incomplete, Status

COARSE = 0.05
"""A check interval of more than this share of K* is coarse."""


@dataclass(frozen=True, kw_only=True)
class StepsToResult:
    """K* of one cell.

    ``estimate`` has K* itself as its value; its interval is that of the typical best of N trials, the check interval
    included (see `parsity.analysis.resampling`).
    """

    batch_size: int
    sparsity: float
    goal: float
    steps: int | None
    last_miss: int | None
    winner: int | None
    metaparameters: Mapping[str, Value] | None
    test_error: float | None
    estimate: Estimate
    trials: int
    counts: Mapping[Status, int]
    resolution: float | None
    """The check interval as a share of K*."""
    patience: float

    @property
    def coarse(self) -> bool:
        """Whether the check interval is too coarse for K*."""
        return self.resolution is not None and self.resolution > COARSE

    @property
    def warning(self) -> str:
        """What to know before believing the number; empty where there is nothing."""
        if self.steps is None:
            return "no trial is complete"
        if self.coarse and self.last_miss is not None:
            width = self.steps - self.last_miss
            finest = max(1, int(COARSE * self.steps))
            return f"checked every {width} steps, {self.resolution:.0%} of K*: an interval of {finest} would do"
        return ""


def steps_to_result(cell: CurveCell, draws: CellDraws | None) -> StepsToResult:
    """K* of ``cell``, its interval from ``draws``."""
    best = cell.best
    if best is None or draws is None:
        limits = [end.step for trial in cell.trials if isinstance(end := cell.outcome(trial), Incomplete)]
        why = f"none of {cell.n} trials is complete" + (f" within {max(limits)} steps" if limits else "")
        estimate = unknown(cell.n, why)
    else:
        estimate = draws.steps(float(best.step))
    winner = next((trial for trial in cell.trials if best is not None and trial.number == best.number), None)
    return StepsToResult(
        batch_size=cell.batch_size,
        sparsity=cell.sparsity,
        goal=cell.goal,
        steps=best.step if best else None,
        last_miss=best.last_miss if best else None,
        winner=best.number if best else None,
        metaparameters=dict(best.metaparameters) if best else None,
        test_error=winner.test_errors.get(cell.goal) if winner else None,
        estimate=estimate,
        trials=cell.n,
        counts=cell.counts,
        resolution=(best.step - best.last_miss) / best.step if best else None,
        patience=cell.patience,
    )


def patience_reason(cell: CurveCell) -> str:
    """Why outpaced trials leave something open."""
    return f"{len(cell.outpaced)} of {cell.n} trials were outpaced at patience {cell.patience:g}"
