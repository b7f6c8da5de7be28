"""Claims about the successful region: how it grows with the batch, and shrinks with sparsity."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from parsity.analysis.analysed import Worked
from parsity.analysis.claims.verdicts import Case, Verdict, spoken
from parsity.analysis.curve import Curve, CurveCell
from parsity.analysis.estimate import TAIL, Draws, Estimate, Floats
from parsity.analysis.region import quantity

SURE, MAYBE = ("complete",), ("complete", "outpaced")
"""The outcomes that are complete for certain, and those that may be, had they gone on."""


def region_grows(studies: Sequence[Worked]) -> list[Case]:
    """The slope of the share of complete trials on log2(batch size)."""
    cases = []
    for one in studies:
        for draws in one.draws:
            low, high = share_slopes(draws.curve)
            if not len(low) or len(draws.curve.cells) < 2:
                continue
            slope = _bracket(low, high, draws.curve)
            verdict: Verdict = "holds" if slope.above(0) else "does not" if slope.below(0) else "cannot be said"
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
    """The width of the learning rates of complete trials, in octaves, of the sparsest less that of the dense cells.

    In the mean over batch sizes; its spread is that of drawing trials with replacement, the same in all cells.
    """
    cases = []
    for one in studies:
        for goal in one.goals:
            some = one.of_goal(goal)
            if len(some) < 2 or some[0].curve.sparsity:
                continue
            change = _width_change(some[-1].curve, some[0].curve)
            if change is None:
                continue
            verdict: Verdict = "holds" if change.below(0) else "cannot be said"
            if not change.below(0) and change.low is not None and change.low >= 0:
                verdict = "does not"
            cases.append(
                Case(
                    study=one.study.name,
                    goal=goal,
                    sparsity=some[-1].curve.sparsity,
                    verdict=verdict,
                    why=f"octaves of learning rate gained over dense: {spoken(change)}",
                    numbers={"change in octaves": change},
                )
            )
    return cases


def _width_change(sparse: Curve, dense: Curve, draws: int = 400) -> Estimate | None:
    dense_cells = {cell.batch_size: cell for cell in dense.cells}
    pairs = [(cell, dense_cells[cell.batch_size]) for cell in sparse.cells if cell.batch_size in dense_cells]
    pairs = [(one, other) for one, other in pairs if one.complete and other.complete]
    if not pairs or quantity("learning_rate", pairs[0][0].trials[0].metaparameters) is None:
        return None
    numbers = sorted({number for pair in pairs for cell in pair for number in cell.numbers})
    picks = np.random.default_rng(0).multinomial(len(numbers), np.ones(len(numbers)) / len(numbers), size=draws) > 0
    picks = np.vstack([np.ones(len(numbers), dtype=bool), picks])
    total_low, total_high = np.zeros(draws + 1), np.zeros(draws + 1)
    for one, other in pairs:
        total_low += _widths(one, numbers, picks, SURE) - _widths(other, numbers, picks, MAYBE)
        total_high += _widths(one, numbers, picks, MAYBE) - _widths(other, numbers, picks, SURE)
    low, high = total_low / len(pairs), total_high / len(pairs)
    # A sample's range is narrower than what it samples, a resample's narrower still: so draws are put back in place.
    below = Draws(low[1:] - low[1:].mean() + low[0]).estimate(None, n=len(numbers), undo=float)
    above = Draws(high[1:] - high[1:].mean() + high[0]).estimate(None, n=len(numbers), undo=float)
    exact = low[0] == high[0]
    return Estimate(
        value=float(low[0]) if exact else None,
        low=below.low,
        high=above.high,
        n=len(numbers),
        open_because="" if exact else "outpaced trials may be complete",
        patience=None if exact else math.inf,
    )


def _widths(cell: CurveCell, numbers: Sequence[int], picks: NDArray[np.bool_], kinds: tuple[str, ...]) -> Floats:
    """log2(highest / lowest learning rate) among the picked trials of these kinds; 0 where none is picked."""
    place = {number: column for column, number in enumerate(numbers)}
    rates = np.full(len(numbers), math.nan)
    for trial in cell.trials:
        rate = quantity("learning_rate", trial.metaparameters)
        if rate is not None and cell.outcome(trial).status in kinds:
            rates[place[trial.number]] = math.log2(rate)
    known = picks & ~np.isnan(rates)
    most = np.where(known, rates, -np.inf).max(axis=1)
    least = np.where(known, rates, np.inf).min(axis=1)
    found: Floats = np.where(known.any(axis=1), most - least, 0.0)
    return found
