"""Claims about the successful region: how it grows with the batch, and shrinks with sparsity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import betaincinv, stdtrit

from parsity.analysis.analysed import Worked
from parsity.analysis.claims.verdicts import Case, Verdict, spoken
from parsity.analysis.curve import Curve, CurveCell
from parsity.analysis.estimate import TAIL, Estimate, Floats, interval, unknown
from parsity.analysis.region import FEWEST, quantity

SURE, MAYBE = ("complete",), ("complete", "outpaced")
"""The outcomes that are complete for certain, and those that may be, had they gone on."""
SAME = 0.25
"""Ranges whose widths differ by less than this many octaves are equally wide."""
ROUNDING = 1e-9
"""A share that does not change at all has a slope of zero but for the rounding of its sums."""


def region_grows(studies: Sequence[Worked]) -> list[Case]:
    """The slope of the share of complete trials on log2(batch size)."""
    cases = []
    for one in studies:
        for draws in one.draws:
            low, high = share_slopes(draws.curve)
            if not len(low) or len(draws.curve.cells) < 2:
                continue
            slope = _bracket(low, high, draws.curve)
            verdict: Verdict = (
                "holds" if slope.above(ROUNDING) else "does not" if slope.below(-ROUNDING) else "cannot be said"
            )
            cases.append(
                Case(
                    study=one.study.name,
                    goal=draws.curve.goal,
                    sparsity=draws.curve.sparsity,
                    verdict=verdict,
                    why=f"share of complete trials per doubling of the batch: {spoken(slope, '+.3f')}",
                    numbers={"slope": slope},
                )
            )
    return cases


def share_slopes(curve: Curve) -> tuple[Floats, Floats]:
    """For each trial number that all cells have, the least and the largest slope of "is complete" on log2(B).

    The mean over trials is the slope of the share. An outpaced trial may be complete or not, whichever makes the
    slope least, or largest.
    """
    numbers = sorted(set.intersection(*(set(cell.numbers) for cell in curve.cells)))
    x = np.log2(curve.batch_sizes)
    x = (x - x.mean()) / max(float(((x - x.mean()) ** 2).sum()), 1e-300)
    sure, maybe = (np.array([_indicator(cell, numbers, kinds) for cell in curve.cells]) for kinds in (SURE, MAYBE))
    rising = (x > 0)[:, None]
    low = x @ np.where(rising, sure, maybe)
    high = x @ np.where(rising, maybe, sure)
    return low, high


def _indicator(cell: CurveCell, numbers: Sequence[int], kinds: tuple[str, ...]) -> Floats:
    status = {trial.number: cell.outcome(trial).status for trial in cell.trials}
    return np.array([float(status[number] in kinds) for number in numbers])


def _bracket(low: Floats, high: Floats, curve: Curve) -> Estimate:
    """Student's interval of both means, from the lower side of the one to the upper side of the other."""
    n = len(low)
    reach = float(stdtrit(n - 1, 1 - TAIL)) / math.sqrt(n) if n > 1 else math.inf
    sides = [
        float(part.mean() + sign * reach * part.std(ddof=1)) if n > 1 else None for part, sign in ((low, -1), (high, 1))
    ]
    outpaced = any(cell.outpaced for cell in curve.cells)
    return Estimate(
        value=None if outpaced else float(low.mean()),
        low=sides[0],
        high=sides[1],
        n=n,
        open_because="outpaced trials may be complete" if outpaced else "",
        patience=math.inf if outpaced else None,
    )


def rate_range_shrinks(studies: Sequence[Worked]) -> list[Case]:
    """The width of the feasible learning rates, in octaves, of the sparsest less that of the dense cells."""
    cases = []
    for one in studies:
        for goal in one.goals:
            some = one.of_goal(goal)
            if len(some) < 2 or some[0].curve.sparsity:
                continue
            change = width_change(some[-1].curve, some[0].curve)
            if change is None:
                continue
            cases.append(
                Case(
                    study=one.study.name,
                    goal=goal,
                    sparsity=some[-1].curve.sparsity,
                    verdict="holds" if change.below(0) else "does not" if change.above(-SAME) else "cannot be said",
                    why=f"octaves of learning rate gained over dense: {spoken(change)}"
                    if change.closed
                    else change.open_because,
                    numbers={"change in octaves": change},
                )
            )
    return cases


def width_change(sparse: Curve, dense: Curve, draws: int = 2000) -> Estimate | None:
    """The change of the feasible width, in the mean over batch sizes; None where no learning rate was searched.

    Of m values spread evenly over a width W, the range R has R / W ~ Beta(m - 1, 2). So W is R (m + 1) / (m - 1), and
    R / Beta(m - 1, 2) in each draw: the same quantile in all cells of a curve, since they share their trials.
    An outpaced trial may be complete or not, whichever makes the change least, or largest.
    """
    others = {cell.batch_size: cell for cell in dense.cells}
    both = [(cell, others[cell.batch_size]) for cell in sparse.cells if cell.batch_size in others]
    trials = [trial for pair in both for cell in pair for trial in cell.trials]
    if not any(quantity("learning_rate", trial.metaparameters) is not None for trial in trials):
        return None
    n = max(sparse.trials, dense.trials)
    pairs = [pair for pair in both if all(len(_rates(cell, SURE)) >= FEWEST for cell in pair)]
    if not pairs:
        return unknown(n, f"no batch size has {FEWEST} complete trials both dense and sparse")
    quantiles = np.random.default_rng(0).random((2, draws))

    def widths(which: Literal[0, 1], kinds: tuple[str, ...]) -> tuple[float, Floats]:
        ranges = [_rates(pair[which], kinds) for pair in pairs]
        sizes = [(max(rates) - min(rates), len(rates)) for rates in ranges]
        drawn = [width / betaincinv(m - 1, 2, quantiles[which]) for width, m in sizes]
        return float(np.mean([width * (m + 1) / (m - 1) for width, m in sizes])), np.mean(drawn, axis=0)

    (sparse_least, one), (sparse_most, three) = widths(0, SURE), widths(0, MAYBE)
    (dense_least, two), (dense_most, four) = widths(1, SURE), widths(1, MAYBE)
    exact = sparse_least == sparse_most and dense_least == dense_most
    return Estimate(
        value=sparse_least - dense_least if exact else None,
        low=interval(np.minimum(one, three) - np.maximum(two, four))[0],
        high=interval(np.maximum(one, three) - np.minimum(two, four))[1],
        n=n,
        open_because="" if exact else "outpaced trials may be complete",
        patience=None if exact else math.inf,
    )


def _rates(cell: CurveCell, kinds: tuple[str, ...]) -> list[float]:
    """Log2 of the learning rates of the trials that ended so."""
    found = [
        quantity("learning_rate", trial.metaparameters) for trial in cell.trials if cell.outcome(trial).status in kinds
    ]
    return [math.log2(rate) for rate in found if rate is not None]
