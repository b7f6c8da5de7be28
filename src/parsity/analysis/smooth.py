"""Smoothness as the theory takes it: mean Lipschitz constants with intervals, and the ratio of c1 they predict.

Along one training, points near each other are alike, so the mean's interval is that of a moving-block bootstrap; what
is compared between sparsities is drawn at the same steps in both, as their trainings see the same images there. It says
how far the mean of other stretches of such a training would be off, not that of other initial weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parsity.analysis.estimate import Draws, Estimate, unknown
from parsity.analysis.measured import Constants
from parsity.results import LipschitzPoint, Smoothness, SmoothnessCurve

DRAWS = 2_000
FEWEST = 5
"""Points, for an interval."""


@dataclass(frozen=True, kw_only=True)
class PredictedRatio:
    """c1 of a sparsity over that of ``against``, by the theory: (Delta ratio) x (beta ratio) x (L ratio), mu = 1."""

    sparsity: float
    against: float
    delta: float
    beta: float
    lipschitz: Estimate
    c1: Estimate
    betas: Mapping[int, float] = field(default_factory=dict)
    """The ratio of beta at each step at which both were sampled: at the start it is the theory's."""


def mean_lipschitz(curve: SmoothnessCurve) -> Estimate:
    """The mean local Lipschitz constant along training."""
    values = np.array([point.lipschitz for point in _moving(curve)])
    if not len(values):
        return unknown(0, "nothing was measured")
    means = values[_blocks(len(values))].mean(axis=1)
    return Draws(means, *_short(len(values))).estimate(float(values.mean()), n=len(values), undo=float)


def lipschitz_ratio(curve: SmoothnessCurve, other: SmoothnessCurve) -> Estimate:
    """The ratio of two curves' mean Lipschitz constants, over the steps that both have."""
    theirs = {point.step: point.lipschitz for point in _moving(other)}
    both = [(point.lipschitz, theirs[point.step]) for point in _moving(curve) if point.step in theirs]
    if not both:
        return unknown(0, "they have no step in common")
    values = np.array(both)
    drawn = values[_blocks(len(values))].mean(axis=1)
    ratio = float(values[:, 0].mean() / values[:, 1].mean())
    return Draws(np.log(drawn[:, 0] / drawn[:, 1]), *_short(len(values))).estimate(ratio, n=len(values))


def constants(found: Smoothness) -> dict[float, Constants]:
    """By sparsity, what the claims are held against."""
    known = {}
    for curve in found.curves:
        estimate, start = mean_lipschitz(curve), curve.start
        if estimate.value is None:
            continue
        known[curve.sparsity] = Constants(
            lipschitz=estimate.value,
            lipschitz_estimate=estimate,
            delta=found.delta(start) if start else None,
            beta=start.beta if start else None,
            noise_scale=start.noise_scale if start else None,
            n=estimate.n,
        )
    return known


def predicted_ratios(found: Smoothness) -> tuple[PredictedRatio, ...]:
    """For each sparsity but the least, where all three constants of both were measured."""
    if not found.curves:
        return ()
    base, *others = found.curves
    there = {point.step: point.beta for point in base.noise}
    ratios = []
    for curve in others:
        if base.start is None or curve.start is None or not base.points or not curve.points:
            continue
        delta = found.delta(curve.start) / found.delta(base.start)
        beta = curve.start.beta / base.start.beta
        lipschitz = lipschitz_ratio(curve, base)
        ratios.append(
            PredictedRatio(
                sparsity=curve.sparsity,
                against=base.sparsity,
                delta=delta,
                beta=beta,
                lipschitz=lipschitz,
                c1=lipschitz.scaled(delta * beta),
                betas={
                    point.step: point.beta / there[point.step]
                    for point in curve.noise
                    if there.get(point.step) and point.beta
                },
            )
        )
    return tuple(ratios)


def _moving(curve: SmoothnessCurve) -> list[LipschitzPoint]:
    """The points between which training moved."""
    return [point for point in curve.points if point.ratios]


def _blocks(count: int) -> NDArray[np.intp]:
    """For each draw, which points it is made of: blocks of neighbours, the last followed by the first."""
    length = max(1, round(count ** (1 / 3)))
    starts = np.random.default_rng(0).integers(count, size=(DRAWS, math.ceil(count / length)))
    places = (starts[:, :, None] + np.arange(length)) % count
    picked: NDArray[np.intp] = places.reshape(DRAWS, -1)[:, :count]
    return picked


def _short(count: int) -> tuple[bool, bool, str]:
    """Whether there are too few points for an interval."""
    return (True, True, f"fewer than {FEWEST} points") if count < FEWEST else (False, False, "")
