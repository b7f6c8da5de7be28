"""Is the knee of a curve as sharp as the formula's? K* = ((c1/B)^s + c2^s)^(1/s)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from parsity.analysis.estimate import TAIL, Draws, Estimate, Floats, combined, unknown
from parsity.analysis.fitting import SHARPNESS, Fits, finite, fit, fit_knee

KneeVerdict = Literal["sharper", "softer", "formula", "cannot be said"]


@dataclass(frozen=True, kw_only=True)
class Knee:
    """K* = ((c1/B)^s + c2^s)^(1/s): s = 1 is the formula, a larger s a sharper knee.

    ``verdict`` goes by the interval of ``sharpness`` from the trials, or, where that is open, by the one from the
    scatter about the curve: "sharper" or "softer" where 1 is outside, "formula" where it is inside and all of the
    interval is within [1/2, 2]. ``aicc`` is AICc of the formula less that of the knee; positive speaks for the knee.
    """

    sharpness: Estimate
    scatter: Estimate
    critical_batch: float | None
    residual: float
    aicc: float | None
    verdict: KneeVerdict
    why: str


def fit_of_knee(batches: Floats, y: Floats, formula: Fits, drawn: Fits | None, draws: list[Draws], n: int) -> Knee:
    """The knee of one curve: ``drawn`` are its fits to the draws, None where there are none."""
    cells = len(y)
    knee = fit_knee(batches, y)
    value = float(knee.sharpness[0])
    if drawn is None:
        sharpness = draws[0].estimate(value, n=n)
    else:
        logs = np.log(drawn.sharpness)
        edge = math.log(SHARPNESS[-1]) - 1e-6
        logs = np.where(logs >= edge, np.inf, np.where(logs <= math.log(SHARPNESS[0]) + 1e-6, -np.inf, logs))
        both = [(draw, way) for draw in draws for way in (1.0, -1.0)]
        sharpness = combined(logs, both).estimate(value, n=n)
    scatter = unknown(cells, f"{cells} batch sizes are too few to tell the knee's sharpness")
    aicc = None
    if cells >= 4:
        scatter = _scatter_sharpness(batches, y, knee, value)
    if cells >= 6:
        floor = cells * 1e-6
        gain = cells * math.log(max(formula.squares[0], floor) / max(knee.squares[0], floor))
        aicc = gain - (_penalty(cells, 4) - _penalty(cells, 3))
    verdict, why = _judge(sharpness if sharpness.closed else scatter, "trials" if sharpness.closed else "scatter")
    return Knee(
        sharpness=sharpness,
        scatter=scatter,
        critical_batch=finite(float(knee.log_critical[0])),
        residual=float(np.sqrt(knee.squares[0] / cells)) / math.log(2),
        aicc=aicc,
        verdict=verdict,
        why=why,
    )


def _penalty(n: int, k: int) -> float:
    return 2 * k + 2 * k * (k + 1) / (n - k - 1)


def _scatter_sharpness(batches: Floats, y: Floats, knee: Fits, value: float) -> Estimate:
    n = len(y)
    squares = np.array([float(fit(batches, y, one).squares[0]) for one in SHARPNESS])
    limit = float(knee.squares[0]) * (1 + float(stdtrit(n - 3, 1 - TAIL)) ** 2 / (n - 3)) + 1e-12
    inside = np.flatnonzero(squares <= limit)
    if not len(inside):
        return Estimate(value=value, low=value, high=value, n=n)
    low = None if inside[0] == 0 else float(SHARPNESS[inside[0] - 1])
    high = None if inside[-1] == len(SHARPNESS) - 1 else float(SHARPNESS[inside[-1] + 1])
    why = "" if low is not None and high is not None else "the batch sizes measured do not bound it"
    return Estimate(value=value, low=low, high=high, n=n, open_because=why)


def _judge(sharpness: Estimate, source: str) -> tuple[KneeVerdict, str]:
    span = f"{sharpness.low or 0:.2g} to {'any' if sharpness.high is None else format(sharpness.high, '.2g')}"
    why = f"sharpness {span}, from the {source}; the formula has 1"
    if sharpness.value is None:
        return "cannot be said", sharpness.open_because
    if sharpness.above(1):
        return "sharper", why
    if sharpness.below(1):
        return "softer", why
    if sharpness.closed and not sharpness.covers(2) and not sharpness.covers(0.5):
        return "formula", why
    return "cannot be said", why
