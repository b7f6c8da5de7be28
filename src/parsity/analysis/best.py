"""The best metaparameters against the batch size, beside the linear and the square-root rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parsity.analysis.curve import Curve
from parsity.analysis.estimate import Estimate, unknown
from parsity.analysis.line import line_through
from parsity.analysis.region import quantity
from parsity.results import TrialResult

Rule = Literal["linear", "square root", "neither", "cannot be said"]
RULES: dict[Rule, float] = {"linear": 1.0, "square root": 0.5}


@dataclass(frozen=True, kw_only=True)
class BestAgainstBatch:
    """The winners' values of one quantity along a curve.

    ``slope`` is that of log(value) on log(batch size) by least squares, with Student's interval; the scatter of the
    winners about the line is what the search's chance does to them. It cannot be smaller than the search's spacing
    allows: each winner counts with at least the variance of a point within one N-th of the range tried. ``rule`` says
    which of lr ~ B (slope 1) and lr ~ sqrt B (1/2) the interval allows.
    """

    quantity: str
    batch_sizes: tuple[int, ...]
    values: tuple[float, ...]
    winners: tuple[int, ...]
    slope: Estimate
    rule: Rule


def searched(curve: Curve) -> tuple[str, ...]:
    """The positive quantities that differ between trials: metaparameters, then 1 - momentum and lr / (1 - momentum)."""
    trials = [trial for cell in curve.cells for trial in cell.trials]
    names = [name for name in (trials[0].metaparameters if trials else {}) if name != "momentum"]
    names += ["one_less_momentum", "effective_learning_rate"]
    found = tuple(name for name in names if len(_tried(name, trials)) > 1)
    plain_rate = "one_less_momentum" not in found
    return tuple(name for name in found if not (plain_rate and name == "effective_learning_rate"))


def best_against_batch(curve: Curve, name: str) -> BestAgainstBatch:
    """The winners' values of ``name`` and their slope."""
    winners = [(cell.batch_size, cell.best) for cell in curve.cells if cell.best is not None]
    points = [
        (batch, value, best.number)
        for batch, best in winners
        if (value := quantity(name, best.metaparameters)) is not None
    ]
    tried = _tried(name, [trial for cell in curve.cells for trial in cell.trials])
    slope = _slope([batch for batch, _, _ in points], [value for _, value, _ in points], tried, curve.trials)
    return BestAgainstBatch(
        quantity=name,
        batch_sizes=tuple(batch for batch, _, _ in points),
        values=tuple(value for _, value, _ in points),
        winners=tuple(number for _, _, number in points),
        slope=slope,
        rule=_rule(slope),
    )


def _slope(batches: list[int], values: list[float], tried: set[float], trials: int) -> Estimate:
    spacing = math.log(max(tried) / min(tried)) / max(trials, 1) if tried else 0.0
    line = line_through(np.log(batches), np.log(values), least_variance=spacing**2 / 12)
    if line is None:
        return unknown(len(batches), f"{len(batches)} batch sizes are too few for a slope")
    return line.rising()


def _rule(slope: Estimate) -> Rule:
    if slope.value is None:
        return "cannot be said"
    allowed = [name for name, exponent in RULES.items() if slope.covers(exponent)]
    if not allowed:
        return "neither"
    return allowed[0] if len(allowed) == 1 else "cannot be said"


def _tried(name: str, trials: list[TrialResult]) -> set[float]:
    return {value for trial in trials if (value := quantity(name, trial.metaparameters)) is not None}
