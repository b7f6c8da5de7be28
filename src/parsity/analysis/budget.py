"""Was the budget of trials enough? The best of n trials for n = 1..N, and what twice the budget would bring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from parsity.analysis.curve import CurveCell
from parsity.analysis.estimate import Draws, Estimate, Floats, combined, unknown
from parsity.analysis.resampling import CellDraws, CurveDraws
from parsity.results import Incomplete, Outpaced

WORTH = 0.1
"""Doubling the budget is worth it where it lowers K* by at least this share."""
BudgetVerdict = Literal["enough", "more would help", "cannot be said"]


@dataclass(frozen=True, kw_only=True)
class BestOf:
    """The best of ``n`` of a cell's N trials, over all choices of n among them.

    ``at_least`` is its mean with every trial that did not finish counted with the steps it is known to need at least,
    None where an infeasible one may be the best; ``expected`` is the same number where no trial that did not finish
    can be. ``found`` is the share of choices with a complete trial. ``typical`` is the median, with the interval of
    the best of n in other searches.
    """

    n: int
    expected: float | None
    at_least: float | None
    found: float
    typical: Estimate


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The verdict on a budget: ``gain`` is the share by which twice the trials would lower K*.

    ``last_gain`` is what the second half of the trials brought, in the mean over all halves, extrapolating nothing;
    with a lower tail like a power, or with a floor, the next doubling brings no more in the mean.
    """

    verdict: BudgetVerdict
    why: str
    gain: Estimate
    last_gain: float | None


@cache
def best_of_weights(total: int) -> Floats:
    """Entry [n-1, j-1]: the chance that the j-th best of N is the best of n drawn without putting back.

    C(N - j, n - 1) / C(N, n),    n, j = 1..N
    """
    weights = np.zeros((total, total))
    for n in range(1, total + 1):
        chance = n / total
        for j in range(1, total - n + 2):
            weights[n - 1, j - 1] = chance
            # C(N-j-1, n-1) / C(N-j, n-1): products, so that nothing overflows.
            chance *= (total - j - n + 1) / (total - j) if j < total else 0.0
    weights.flags.writeable = False
    return weights


def known_steps(cell: CurveCell) -> Floats:
    """The trials' steps in order: K* and its followers, then the bounds of those that did not finish."""
    best = cell.best
    bounds = []
    for trial in cell.trials:
        end = cell.outcome(trial)
        if isinstance(end, Incomplete):
            bounds.append(float(end.step))
        elif isinstance(end, Outpaced):
            # How far it happened to go depends on how the race was run; that it needs more than this does not.
            bounds.append(cell.patience * best.step if best else 0.0)
        elif end.status == "infeasible":
            bounds.append(math.inf)
    return np.array([point.step for point in cell.complete] + sorted(bounds), dtype=float)


def best_of(cell: CurveCell, draws: CellDraws | None) -> tuple[BestOf, ...]:
    """The best of n trials for n = 1..N."""
    steps, known = known_steps(cell), len(cell.complete)
    weights = best_of_weights(cell.n)
    shares = weights.cumsum(axis=1)
    rows = []
    for n in range(1, cell.n + 1):
        row, share = weights[n - 1], shares[n - 1]
        used = row > 0
        at_least = float(row[used] @ steps[used])
        found = float(share[known - 1]) if known else 0.0
        middle = int(np.searchsorted(share, 0.5 - 1e-12))
        median = float(steps[middle]) if middle < known else None
        rows.append(
            BestOf(
                n=n,
                expected=at_least if not used[known:].any() else None,
                at_least=at_least if math.isfinite(at_least) else None,
                found=min(found, 1.0),
                typical=draws.steps(median, n)
                if draws is not None
                else unknown(cell.n, f"none of {cell.n} trials is complete"),
            )
        )
    return tuple(rows)


def cell_budget(draws: CellDraws) -> Budget:
    """The verdict on one cell."""
    gain = draws.typical(2 * draws.cell.n).minus(draws.typical())
    return _judge(gain, [_last_gain(draws.cell)], draws.cell.n)


def curve_budget(draws: CurveDraws) -> Budget:
    """The verdict on a curve: the mean over its cells, whose trials are the same numbers."""
    cells = [cell for cell in draws.cells if cell is not None]
    if not cells:
        return _judge(None, [], draws.curve.trials)
    gains = [cell.typical(2 * cell.cell.n).minus(cell.typical()) for cell in cells]
    mean = combined(np.mean([gain.values for gain in gains], axis=0), [(gain, 1.0) for gain in gains])
    return _judge(mean, [_last_gain(cell.cell) for cell in cells], draws.curve.trials)


def _last_gain(cell: CurveCell) -> float | None:
    """1 - E[best of N] / E[best of N/2], in the mean of logarithms, where all that matters is known."""
    steps = known_steps(cell)
    half = best_of_weights(cell.n)[cell.n // 2 - 1] if cell.n >= 2 else np.zeros(cell.n)
    used = half > 0
    if not used.any() or used[len(cell.complete) :].any():
        return None
    return float(1 - steps[0] / math.exp(float(half[used] @ np.log(steps[used]))))


def _judge(log_gain: Draws | None, last: list[float | None], n: int) -> Budget:
    known = [gain for gain in last if gain is not None]
    last_gain = float(np.mean(known)) if known and len(known) == len(last) else None
    if log_gain is None or np.isnan(log_gain.values).any():
        why = (log_gain.why if log_gain is not None else "") or f"none of {n} trials is complete"
        patience = log_gain.patience if log_gain is not None else None
        nothing = Estimate(value=None, low=None, high=None, n=n, open_because=why, patience=patience)
        return Budget(verdict="cannot be said", why=why, gain=nothing, last_gain=last_gain)
    # The gain is 1 - exp(d) for the change d of log K*: it falls with d, so sides change places.
    loss = Draws(-log_gain.values, log_gain.open_high, log_gain.open_low, log_gain.why, log_gain.patience)
    value = -math.expm1(float(np.median(log_gain.values)))
    gain = loss.estimate(value, n=n, undo=lambda d: -math.expm1(-d))
    why = f"twice the {n} trials would lower K* by about {value:.0%} ({_span(gain)})"
    if gain.below(WORTH):
        verdict: BudgetVerdict = "enough"
        why += f", less than {WORTH:.0%}"
    elif gain.above(WORTH):
        verdict = "more would help"
    elif gain.closed:
        verdict = "cannot be said"
        why += f", and {WORTH:.0%} lies between"
    else:
        verdict = "cannot be said"
        why = f"by how much twice the {n} trials would lower K* is not bounded: {gain.open_because}"
    return Budget(verdict=verdict, why=why, gain=gain, last_gain=last_gain)


def _span(gain: Estimate) -> str:
    if gain.low is not None and gain.high is not None:
        return f"{gain.low:.0%} to {gain.high:.0%}"
    if gain.low is not None:
        return f"at least {gain.low:.0%}"
    return f"at most {gain.high:.0%}" if gain.high is not None else "not bounded"
