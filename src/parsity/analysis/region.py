"""Which metaparameters lead to the goal: shares of outcomes, and the range of feasible learning rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy.special import betaincinv

from parsity.analysis.curve import CurveCell, Value
from parsity.analysis.estimate import TAIL, Estimate, unknown
from parsity.analysis.steps import patience_reason
from parsity.results import TrialResult

FEWEST = 4
"""Fewer complete trials than these bound no range."""


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The shares of a cell's trials, each with its exact binomial (Clopper-Pearson) interval.

    ``complete`` counts those within patience x K* as complete and those outpaced as open: its interval reaches from
    none of them to all of them being complete.
    """

    batch_size: int
    complete: Estimate
    incomplete: Estimate
    infeasible: Estimate
    outpaced: Estimate


@dataclass(frozen=True, kw_only=True)
class FeasibleRange:
    """The range of one quantity over a cell's complete trials (Fig. 5).

    ``low`` and ``high`` have the outermost complete trials as values; ``octaves`` is log2(high / low). Outward, the
    intervals take complete trials to be spread evenly over the logarithm within the range, for which the gap to the
    true end exceeds t times the range with probability (1 + t)^(1 - m); inward, they end at the value. A side beyond
    which an outpaced trial lies is open: it might have been complete.
    """

    quantity: str
    batch_size: int
    low: Estimate
    high: Estimate
    octaves: Estimate


def effective_learning_rate(metaparameters: Mapping[str, Value]) -> float | None:
    """Lr / (1 - m), the total weight a gradient gets in the end; lr where there is no momentum; None without lr."""
    rate = metaparameters.get("learning_rate")
    momentum = metaparameters.get("momentum", 0.0)
    if isinstance(rate, str) or rate is None or isinstance(momentum, str):
        return None
    return rate / (1 - momentum)


def quantity(name: str, metaparameters: Mapping[str, Value]) -> float | None:
    """A positive quantity of a trial: "effective_learning_rate", "one_less_momentum", or a metaparameter by name."""
    if name == "effective_learning_rate":
        return effective_learning_rate(metaparameters)
    if name == "one_less_momentum":
        momentum = metaparameters.get("momentum")
        return None if momentum is None or isinstance(momentum, str) else 1 - momentum
    value = metaparameters.get(name)
    return None if value is None or isinstance(value, str) or value <= 0 else float(value)


def binomial(count: int, n: int) -> Estimate:
    """Count / n with the interval of Clopper and Pearson: Beta quantiles."""
    low = float(betaincinv(count, n - count + 1, TAIL)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - TAIL)) if count < n else 1.0
    return Estimate(value=count / n, low=low, high=high, n=n)


def shares(cell: CurveCell) -> Shares:
    """How the trials of ``cell`` ended."""
    complete, outpaced = len(cell.complete), len(cell.outpaced)
    most = binomial(complete + outpaced, cell.n)
    least = binomial(complete, cell.n)
    return Shares(
        batch_size=cell.batch_size,
        complete=Estimate(
            value=None if outpaced else least.value,
            low=least.low,
            high=most.high,
            n=cell.n,
            open_because=patience_reason(cell) if outpaced else "",
            patience=math.inf if outpaced else None,
        ),
        incomplete=binomial(cell.counts.get("incomplete", 0), cell.n),
        infeasible=binomial(cell.counts.get("infeasible", 0), cell.n),
        outpaced=binomial(outpaced, cell.n),
    )


def feasible_range(cell: CurveCell, name: str) -> FeasibleRange | None:
    """The range of ``name`` over the complete trials; None where no trial has such a quantity."""
    inside = _values(name, (point.metaparameters for point in cell.complete))
    maybe = _trial_values(name, cell.outpaced)
    if not inside:
        if not _trial_values(name, cell.trials):
            return None
        nothing = unknown(cell.n, f"none of {cell.n} trials is complete")
        return FeasibleRange(quantity=name, batch_size=cell.batch_size, low=nothing, high=nothing, octaves=nothing)
    low, high, m = min(inside), max(inside), len(inside)
    width = math.log(high / low)
    few = m < FEWEST
    reach = width * (TAIL ** (-1 / (m - 1)) - 1) if not few else math.inf
    # Both ends at once, in one interval for the width: half the error to each.
    both = 2 * width * ((TAIL / 2) ** (-1 / (m - 1)) - 1) if not few else math.inf
    below, above = any(value < low for value in maybe), any(value > high for value in maybe)
    why = f"{m} complete trials are too few" if few else patience_reason(cell) if below or above else ""
    patience = math.inf if (below or above) and not few else None
    open_low, open_high = few or below, few or above

    def side(value: float, least: float | None, most: float | None, is_open: bool) -> Estimate:
        return Estimate(
            value=value,
            low=least,
            high=most,
            n=m,
            open_because=why if is_open else "",
            patience=patience if is_open else None,
        )

    return FeasibleRange(
        quantity=name,
        batch_size=cell.batch_size,
        low=side(low, None if open_low else low * math.exp(-reach), low, open_low),
        high=side(high, high, None if open_high else high * math.exp(reach), open_high),
        octaves=side(
            width / math.log(2),
            width / math.log(2),
            None if open_low or open_high else (width + both) / math.log(2),
            open_low or open_high,
        ),
    )


def _values(name: str, trials: Iterable[Mapping[str, Value]]) -> list[float]:
    return [value for one in trials if (value := quantity(name, one)) is not None]


def _trial_values(name: str, trials: tuple[TrialResult, ...]) -> list[float]:
    return _values(name, (trial.metaparameters for trial in trials))
