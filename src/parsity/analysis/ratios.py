"""Curves against each other: sparse against dense, one workload against another, and each against itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parsity.analysis.estimate import Draws, Estimate, Floats, combined, unknown
from parsity.analysis.line import line_through
from parsity.analysis.resampling import CurveDraws
from parsity.analysis.scaling import Scaling


@dataclass(frozen=True, kw_only=True)
class RatioPoint:
    """K* of one curve over K* of the other, at one batch size."""

    batch_size: int
    ratio: Estimate


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """K* of ``upper`` over K* of ``lower`` at every batch size where both have one.

    ``mean`` is the geometric mean over batch sizes; ``slope`` that of log2(ratio) on log2(batch size), the octaves that
    the ratio changes by with each doubling. Their intervals are from resampling trials; the ``scatter_`` ones from the
    scatter of the ratios about the line of log ratio on log batch, ``scatter_last`` being its height at the largest
    batch.
    """

    upper: str
    lower: str
    goal: float
    sparsity: float
    against: float
    points: tuple[RatioPoint, ...]
    mean: Estimate
    slope: Estimate
    scatter_mean: Estimate
    scatter_slope: Estimate
    scatter_last: Estimate

    @property
    def believed_mean(self) -> Estimate:
        """The mean, with the interval that is closed."""
        return self.mean.or_else(self.scatter_mean)

    @property
    def believed_slope(self) -> Estimate:
        """The slope, with the interval that is closed."""
        return self.slope.or_else(self.scatter_slope)

    @property
    def believed_last(self) -> Estimate:
        """The ratio at the largest batch; where trials do not bound it, the line's height there."""
        return self.points[-1].ratio.or_else(self.scatter_last)


@dataclass(frozen=True, kw_only=True)
class NormalisedPoint:
    """One cell in its curve's own units."""

    batch_size: int
    relative_steps: float
    """K* / K* at the smallest batch."""
    relative_batch: float | None
    """B c2/c1."""
    relative_to_floor: float | None
    """K* / c2."""


def ratios(upper: CurveDraws, lower: CurveDraws) -> Ratios | None:
    """Compare two curves; None without a common cell.

    Trials of one study that share numbers share initial weights, data order and metaparameters, and are resampled
    together; those of two studies are resampled apart where their draws were made with different seeds.
    """
    others = {cell.cell.batch_size: cell for cell in lower.cells if cell is not None}
    common = [
        (cell, others[cell.cell.batch_size])
        for cell in upper.cells
        if cell is not None and cell.cell.batch_size in others
    ]
    if not common:
        return None
    points, draws, values = [], [], []
    for one, other in common:
        difference = one.typical().minus(other.typical())
        ratio = one.cell.complete[0].step / other.cell.complete[0].step
        n = min(one.cell.n, other.cell.n)
        points.append(RatioPoint(batch_size=one.cell.batch_size, ratio=difference.estimate(ratio, n=n)))
        draws.append(difference)
        values.append(math.log(ratio))
    n = min(upper.curve.trials, lower.curve.trials)
    batches = [point.batch_size for point in points]
    scatter = _scatter(np.log(batches), values)
    matrix = np.column_stack([draw.values for draw in draws])
    mean = combined(matrix.mean(axis=1), [(draw, 1.0) for draw in draws])
    return Ratios(
        upper=upper.curve.name,
        lower=lower.curve.name,
        goal=upper.curve.goal,
        sparsity=upper.curve.sparsity,
        against=lower.curve.sparsity,
        points=tuple(points),
        mean=mean.estimate(math.exp(sum(values) / len(values)), n=n),
        slope=_slope(batches, values, draws, n),
        scatter_mean=scatter[0],
        scatter_slope=scatter[1],
        scatter_last=scatter[2],
    )


def _slope(batches: Sequence[int], values: Sequence[float], draws: list[Draws], n: int) -> Estimate:
    x = np.log(batches)
    x = x - x.mean()
    total = float((x**2).sum())
    if total == 0:
        return Estimate(value=None, low=None, high=None, n=n, open_because="one batch size alone has no slope")
    weights = x / total
    matrix = np.column_stack([draw.values for draw in draws])
    found = combined(matrix @ weights, list(zip(draws, map(float, weights), strict=True)))
    return found.estimate(float(np.array(values) @ weights), n=n, undo=float)


def _scatter(log_b: Floats, log_ratios: Sequence[float]) -> tuple[Estimate, Estimate, Estimate]:
    line = line_through(log_b, log_ratios)
    if line is None:
        nothing = unknown(len(log_b), "fewer than three batch sizes do not scatter")
        return nothing, nothing, nothing
    return line.middle(math.exp), line.rising(), line.height(float(log_b.max()), math.exp)


def normalised(curve: CurveDraws, scaling: Scaling | None) -> tuple[NormalisedPoint, ...]:
    """A curve's cells in units of its first cell, and of its fit."""
    cells = [cell.cell for cell in curve.cells if cell is not None]
    critical = scaling.critical_batch.value if scaling is not None else None
    floor = scaling.c2.value if scaling is not None else None
    return tuple(
        NormalisedPoint(
            batch_size=cell.batch_size,
            relative_steps=cell.complete[0].step / cells[0].complete[0].step,
            relative_batch=cell.batch_size / critical if critical else None,
            relative_to_floor=cell.complete[0].step / floor if floor else None,
        )
        for cell in cells
    )
