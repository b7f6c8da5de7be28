"""Where scaling is linear, where it diminishes, where it ends: regimes, landmarks on the curve, and speed-ups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parsity.analysis.estimate import Draws, Estimate, Floats, combined, unknown
from parsity.analysis.fitting import Fits, fit_knee
from parsity.analysis.resampling import CurveDraws
from parsity.analysis.scaling import FittedCurve

Regime = Literal["linear", "diminishing", "maximal"]
LINEAR, MAXIMAL = 0.8, 0.2
"""The local slope -d log K* / d log B from which scaling is called linear, and up to which it has ended."""
USEFUL = 0.1
"""A larger batch is useful while it saves at least this share of the steps."""
USEFUL_FACTOR = 4.0
"""By the formula a doubling saves 10 % up to x = B c2/c1 = 4, where 1 + 1/(2x) = 0.9 (1 + 1/x)."""


@dataclass(frozen=True, kw_only=True)
class CellScaling:
    """One cell on its curve.

    ``slope`` is -d log K / d log B there: 1/(1 + B c2/c1) by the formula, or the knee's where that fits better;
    ``agreeing`` is the share of draws that put the cell into the same ``regime``. ``speedup`` is K* at the smallest
    batch over K* here, ``ideal`` what linear scaling would give.
    """

    batch_size: int
    regime: Regime | None
    slope: float | None
    agreeing: float | None
    speedup: Estimate
    ideal: float


@dataclass(frozen=True, kw_only=True)
class Landmarks:
    """Batch sizes that matter.

    ``end_of_linear``: on the measured curve, where K* x B reaches twice its median over the three smallest batches,
    read off between cells on log scales; by the formula that is c1/c2. ``maximal_useful_measured``: the smallest
    measured batch that no larger one betters by 10 %. ``maximal_useful``: up to where a doubling saves 10 %, 4 c1/c2.
    """

    end_of_linear: Estimate
    maximal_useful_measured: Estimate
    maximal_useful: Estimate


def landmarks(fitted: FittedCurve, n: int) -> Landmarks:
    """The landmarks of a curve."""
    batches, y = fitted.batch_sizes, fitted.log_steps
    drawn = np.column_stack([draw.values for draw in fitted.draws])
    known = not np.isnan(drawn).any()
    return Landmarks(
        end_of_linear=_end_of_linear(batches, y, drawn if known else None, fitted.draws, n),
        maximal_useful_measured=_maximal_useful(batches, y, drawn if known else None, fitted.draws, n),
        maximal_useful=fitted.scaling.critical_batch.scaled(USEFUL_FACTOR),
    )


def cell_scalings(curve: CurveDraws, fitted: FittedCurve | None) -> tuple[CellScaling, ...]:
    """Every cell's regime and speed-up."""
    first = next((cell for cell in curve.cells if cell is not None), None)
    measured, drawn = _chosen(fitted)
    rows = []
    for cell, draws in zip(curve.curve.cells, curve.cells, strict=True):
        slope = float(measured.slope(cell.batch_size)[0]) if measured is not None else None
        here = regime(slope) if slope is not None else None
        agreeing = None
        if drawn is not None and here is not None:
            agreeing = float(np.mean([regime(one) == here for one in drawn.slope(cell.batch_size)]))
        speedup = unknown(cell.n, f"none of {cell.n} trials is complete")
        if first is not None and draws is not None and first.cell.best and cell.best:
            ratio = first.cell.best.step / cell.best.step
            if draws is first:
                speedup = Estimate(value=1.0, low=1.0, high=1.0, n=cell.n)
            else:
                speedup = first.typical().minus(draws.typical()).estimate(ratio, n=cell.n)
        rows.append(
            CellScaling(
                batch_size=cell.batch_size,
                regime=here,
                slope=slope,
                agreeing=agreeing,
                speedup=speedup,
                ideal=cell.batch_size / first.cell.batch_size if first is not None else math.nan,
            )
        )
    return tuple(rows)


def regime(slope: float) -> Regime:
    """What a slope is called."""
    return "linear" if slope >= LINEAR else "maximal" if slope <= MAXIMAL else "diminishing"


def _chosen(fitted: FittedCurve | None) -> tuple[Fits | None, Fits | None]:
    """The formula's fits, or the knee's where the formula is refuted."""
    if fitted is None:
        return None, None
    if fitted.scaling.knee.verdict not in ("sharper", "softer"):
        return fitted.measured, fitted.drawn
    knees = None
    if fitted.drawn is not None:
        knees = fit_knee(fitted.batch_sizes, np.column_stack([draw.values for draw in fitted.draws]))
    return fit_knee(fitted.batch_sizes, fitted.log_steps), knees


def _end_of_linear(batches: Floats, y: Floats, drawn: Floats | None, draws: list[Draws], n: int) -> Estimate:
    log_b = np.log(batches)
    images = y + log_b
    if images[:3].max() - images[:3].min() > math.log(2):
        return unknown(n, "K* x B changes twofold within the three smallest batches: no linear part was measured")
    value = float(np.exp(crossing(log_b, images[None])[0]))
    if drawn is None:
        return draws[0].estimate(_finite(value), n=n)
    found = combined(
        crossing(log_b, drawn + log_b), [(draw, 1.0 if i < 3 else -1.0) for i, draw in enumerate(draws)]
    ).estimate(_finite(value), n=n)
    if found.value is None and not found.open_because:
        return unknown(n, "linear up to the largest batch measured")
    return found


def crossing(log_b: Floats, images: Floats) -> Floats:
    """Where log(K* x B) first goes a factor of two above its median over the first three cells; inf where nowhere."""
    over = images - np.median(images[:, :3], axis=1, keepdims=True) - math.log(2)
    beyond = over > 0
    first = np.where(beyond.any(axis=1), beyond.argmax(axis=1), 0)
    each = np.arange(len(over))
    before = np.maximum(first - 1, 0)
    low, high = over[each, before], over[each, first]
    share = np.where(high > low, -low / np.where(high > low, high - low, 1.0), 0.0)
    at = log_b[before] + share * (log_b[first] - log_b[before])
    found: Floats = np.where(beyond.any(axis=1), at, np.inf)
    return found


def _maximal_useful(batches: Floats, y: Floats, drawn: Floats | None, draws: list[Draws], n: int) -> Estimate:
    value = float(np.exp(last_useful(np.log(batches), y[None])[0]))
    if drawn is None:
        return draws[0].estimate(_finite(value), n=n)
    both = [(draw, way) for draw in draws for way in (1.0, -1.0)]
    return combined(last_useful(np.log(batches), drawn), both).estimate(_finite(value), n=n)


def last_useful(log_b: Floats, y: Floats) -> Floats:
    """Log of the smallest batch that no larger one betters by 10 %; inf where that is the largest."""
    later = np.minimum.accumulate(y[:, ::-1], axis=1)[:, ::-1]
    enough = later[:, 1:] > y[:, :-1] + math.log(1 - USEFUL)
    found: Floats = np.where(enough.any(axis=1), log_b[enough.argmax(axis=1)], np.inf)
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
