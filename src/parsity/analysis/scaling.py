"""The scaling of steps with the batch: K* = c1/B + c2 (Prop. 4.1), its critical batch c1/c2, and a sharper knee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from parsity.analysis.estimate import TAIL, Draws, Estimate, Floats, combined
from parsity.analysis.fitting import BEYOND, Fits, finite, fit, fit_knee, influence
from parsity.analysis.knee import Knee, fit_of_knee
from parsity.analysis.resampling import CurveDraws

OCTAVE = math.log(2)
TOUCHED = 0.05
"""A cell that moves a parameter by less than this share of its own movement does not open it."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """The fit to one curve, by least squares on log K*, of the middle of each (last_miss, step].

    ``c1``, ``c2`` and ``critical_batch`` carry intervals from resampling trials; the ``scatter_`` ones come from the
    scatter of the cells about the fit alone (profile, Student's t), need no cloud of trials, and widen where the
    formula misfits: where they are the wider, believe them. Residuals are log2(K* / fit), in octaves.
    """

    batch_sizes: tuple[int, ...]
    left_out: tuple[int, ...]
    c1: Estimate
    c2: Estimate
    critical_batch: Estimate
    scatter_c1: Estimate
    scatter_c2: Estimate
    scatter_critical_batch: Estimate
    residuals: tuple[float, ...]
    residual: float
    """The root of their mean square."""
    knee: Knee

    @property
    def believed_critical_batch(self) -> Estimate:
        """c1/c2 with the wider of its two intervals: where the formula misfits, only the scatter's shows it."""
        return self.critical_batch.or_wider(self.scatter_critical_batch)

    def steps(self, batch_size: float) -> float | None:
        """c1/B + c2."""
        if self.c1.value is None or self.c2.value is None:
            return None
        return self.c1.value / batch_size + self.c2.value


@dataclass(frozen=True, eq=False)
class FittedCurve:
    """A curve's fits, of what was measured (one row) and of every draw."""

    scaling: Scaling
    batch_sizes: Floats
    log_steps: Floats
    draws: list[Draws]
    measured: Fits
    drawn: Fits | None
    parameters: tuple[Draws, Draws, Draws] | None
    """log c1, log c2 and log(c1/c2) in each draw."""


def fit_scaling(curve: CurveDraws) -> FittedCurve | None:
    """Fit a curve; None where fewer than three of its cells have a complete trial."""
    cells = [cell for cell in curve.cells if cell is not None]
    if len(cells) < 3:
        return None
    batches = np.array([cell.cell.batch_size for cell in cells], dtype=float)
    measured_steps = np.log([cell.cell.complete[0].middle for cell in cells])
    measured = fit(batches, measured_steps)
    draws = [cell.typical() for cell in cells]
    matrix = np.column_stack([draw.values for draw in draws])
    n = curve.curve.trials
    drawn, knees, parameters = None, None, None
    if not np.isnan(matrix).any():
        drawn, knees = fit(batches, matrix), fit_knee(batches, matrix)
        ways = influence(batches, measured_steps)
        logs = (drawn.log_c1, drawn.log_c2, drawn.log_critical)
        one, two, three = (_with_sides(values, draws, way) for values, way in zip(logs, ways, strict=True))
        parameters = (one, two, three)
    points = [finite(values[0]) for values in (measured.log_c1, measured.log_c2, measured.log_critical)]
    if parameters is not None:
        found = [draw.estimate(point, n=n) for draw, point in zip(parameters, points, strict=True)]
    else:
        found = [draws[0].estimate(point, n=n) for point in points]
    scatter = _scatter(batches, measured_steps, points)
    residuals = (measured_steps - measured.log_steps(batches)[0]) / OCTAVE
    scaling = Scaling(
        batch_sizes=tuple(cell.cell.batch_size for cell in cells),
        left_out=tuple(cell.batch_size for cell in curve.curve.cells if not cell.complete),
        c1=found[0],
        c2=found[1],
        critical_batch=found[2],
        scatter_c1=scatter[0],
        scatter_c2=scatter[1],
        scatter_critical_batch=scatter[2],
        residuals=tuple(map(float, residuals)),
        residual=float(np.sqrt(np.mean(residuals**2))),
        knee=fit_of_knee(batches, measured_steps, measured, knees, draws, n),
    )
    return FittedCurve(scaling, batches, measured_steps, draws, measured, drawn, parameters)


def _with_sides(values: Floats, draws: list[Draws], ways: Floats) -> Draws:
    moving = [way if abs(way) > TOUCHED else 0.0 for way in map(float, ways)]
    return combined(values, list(zip(draws, moving, strict=True)))


def _scatter(batches: Floats, y: Floats, points: list[float | None]) -> list[Estimate]:
    """Profile intervals: where min SS given the parameter <= SS (1 + t^2 / (n - 2)), t Student's with n - 2.

    For given t = log(c1/c2) the best level is a mean u(t), so log c2 may be anything in u +- sqrt((limit - SS(t)) / n).
    """
    n = len(y)
    log_b = np.log(batches)
    t = np.arange(log_b.min() - BEYOND, log_b.max() + BEYOND, 0.01)
    rest = y - np.logaddexp(0, t[:, None] - log_b)
    level = rest.mean(axis=1)
    squares = ((rest - level[:, None]) ** 2).sum(axis=1)
    best = int(squares.argmin())
    limit = squares[best] * (1 + float(stdtrit(n - 2, 1 - TAIL)) ** 2 / (n - 2)) + 1e-12
    inside = squares <= limit
    reach = np.sqrt((limit - squares[inside]) / n)
    flat, steep = bool(inside[0]), bool(inside[-1])
    ranges = []
    for centre, spread in ((level + t, reach), (level, reach), (t, 0.0)):
        ranges.append((float((centre[inside] - spread).min()), float((centre[inside] + spread).max())))
    # Where c1 = 0 fits, c1 and c1/c2 have no lower side; where c2 = 0 does, c2 has none, and c1/c2 no upper one.
    open_sides = ((flat, False), (steep, False), (flat, steep))
    why = "the batch sizes measured do not bound it"
    return [
        Estimate(
            value=point,
            low=None if low_open else math.exp(low),
            high=None if high_open else math.exp(high),
            n=n,
            open_because=why if low_open or high_open else "",
            source="scatter",
        )
        for point, (low, high), (low_open, high_open) in zip(points, ranges, open_sides, strict=True)
    ]


def parameter_ratio(upper: FittedCurve, lower: FittedCurve, which: Literal["c1", "c2", "critical"], n: int) -> Estimate:
    """A parameter of one curve over that of another, resampled together; the critical batch is c1/c2."""
    place = ("c1", "c2", "critical").index(which)
    logs = [
        (fitted.measured.log_c1, fitted.measured.log_c2, fitted.measured.log_critical)[place][0]
        for fitted in (upper, lower)
    ]
    value = math.exp(logs[0] - logs[1]) if np.isfinite(logs).all() else None
    if upper.parameters is None or lower.parameters is None:
        draws = upper.draws[0] if upper.parameters is None else lower.draws[0]
        return draws.estimate(value, n=n)
    one, other = upper.parameters[place], lower.parameters[place]
    with np.errstate(invalid="ignore"):
        difference = one.minus(other)
    return difference.estimate(value, n=n)


def scatter_ratio(upper: Scaling, lower: Scaling) -> Estimate:
    """The critical batch of one curve over that of the other, from how each scatters about its fit, independently.

    The squares of the intervals' arms add up on the logarithm, each side for itself (variance estimates recovered).
    """
    one, other = upper.scatter_critical_batch, lower.scatter_critical_batch
    n = min(one.n, other.n)
    if not (one.closed and other.closed and one.value and other.value):
        why = one.open_because or other.open_because
        return Estimate(value=None, low=None, high=None, n=n, open_because=why, source="scatter")
    value = math.log(one.value / other.value)
    low = math.hypot(_arm(one.value, one.low), _arm(other.value, other.high))
    high = math.hypot(_arm(one.value, one.high), _arm(other.value, other.low))
    return Estimate(
        value=math.exp(value), low=math.exp(value - low), high=math.exp(value + high), n=n, source="scatter"
    )


def _arm(value: float, side: float | None) -> float:
    return math.log(side / value) if side else math.inf
