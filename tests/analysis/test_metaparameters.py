"""The best metaparameters against the batch, and the region that leads to the goal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up import GOAL, GRID, SPACE, cell
from scipy import stats

from parsity.analysis import (
    CurveCell,
    best_against_batch,
    curves,
    effective_learning_rate,
    feasible_range,
    quantity,
    shares,
)
from parsity.analysis.best import searched
from parsity.metaparameters import Log, Space


def valley(exponent, rng, *, trials=32, space=SPACE, noise=0.1, patience=2.0):
    """Cells whose best learning rate goes as the batch to ``exponent``."""
    points = space.trials(1, trials)
    cells = []
    for batch in GRID:
        best = 0.01 * (batch / 128) ** exponent
        steps = [
            1000 * (1 + 0.3 * math.log(p["learning_rate"] / best) ** 2) * math.exp(noise * rng.standard_normal())
            for p in points
        ]
        cells.append(cell(steps, batch_size=batch, patience=patience, metaparameters=points))
    return curves(cells)[0]


def test_effective_learning_rate():
    assert effective_learning_rate({"learning_rate": 0.1, "momentum": 0.9}) == pytest.approx(1)
    assert effective_learning_rate({"learning_rate": 0.1}) == 0.1
    assert effective_learning_rate({"momentum": 0.9}) is None
    assert quantity("one_less_momentum", {"momentum": 0.9}) == pytest.approx(0.1)
    assert quantity("decay_steps", {"decay_steps": 3}) == 3
    assert quantity("nonesuch", {"decay_steps": 3}) is None


def test_what_was_searched():
    rng = np.random.default_rng(0)
    assert searched(valley(0, rng)) == ("learning_rate", "one_less_momentum", "effective_learning_rate")
    assert searched(valley(0, rng, space=Space({"learning_rate": Log(1e-4, 1.0)}))) == ("learning_rate",)


def test_the_slope_is_that_of_least_squares_with_students_interval():
    curve = valley(0.5, np.random.default_rng(3), noise=0.3)
    found = best_against_batch(curve, "learning_rate")
    line = stats.linregress(np.log(found.batch_sizes), np.log(found.values))
    reach = stats.t.ppf(0.975, len(GRID) - 2) * line.stderr
    assert found.slope.value == pytest.approx(line.slope)
    assert found.slope.low == pytest.approx(line.slope - reach)
    assert found.slope.high == pytest.approx(line.slope + reach)
    assert found.winners == tuple(one.best.number for one in curve.cells)


@pytest.mark.parametrize(("exponent", "rule"), [(0.5, "square root"), (1.0, "linear"), (0.0, "neither")])
def test_the_rule(exponent, rule):
    space = Space({"learning_rate": Log(1e-6, 100.0)})
    curve = valley(exponent, np.random.default_rng(1), trials=64, space=space, noise=0.0)
    found = best_against_batch(curve, "learning_rate")
    assert found.rule == rule
    assert found.slope.covers(exponent)


def test_one_winner_everywhere_is_no_certainty():
    points = SPACE.trials(1, 4)
    curve = curves([cell([100.0, 200, 300, 400], batch_size=b, metaparameters=points) for b in (2, 8, 32)])[0]
    found = best_against_batch(curve, "learning_rate")
    assert found.slope.value == pytest.approx(0, abs=1e-9)
    assert found.rule == "cannot be said"
    two = curves([cell([100.0, 200], batch_size=b) for b in (2, 8)])[0]
    assert best_against_batch(two, "learning_rate").slope.value is None


@pytest.mark.soak
@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.8])
def test_coverage_of_the_slope(exponent):
    rng = np.random.default_rng(7)
    space = Space({"learning_rate": Log(1e-6, 100.0)})
    inside = sum(
        best_against_batch(valley(exponent, rng, space=space, noise=0.2), "learning_rate").slope.covers(exponent)
        for _ in range(500)
    )
    print(f"\nslope {exponent}: {inside / 500}")  # noqa: T201
    assert inside / 500 >= 0.93


RATES = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


def of_rates(steps, rates=RATES, **known):
    return CurveCell.of(cell(steps, metaparameters=[{"learning_rate": rate} for rate in rates], **known), GOAL)


def test_shares_with_their_exact_intervals():
    one = of_rates([100.0, 150, 900, math.nan, math.nan], limit=500)
    found = shares(one)
    assert (found.complete.value, found.incomplete.value, found.infeasible.value, found.outpaced.value) == (
        0.4,
        0.2,
        0.4,
        0,
    )
    for estimate, count in ((found.complete, 2), (found.incomplete, 1), (found.outpaced, 0)):
        exact = stats.binomtest(count, 5).proportion_ci(0.95, method="exact")
        assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high))
    every = shares(of_rates([100.0] * 5)).complete
    assert every.high == 1


def test_outpaced_trials_leave_the_share_of_complete_open():
    found = shares(of_rates([100.0, 150, 900, 900, 900], patience=2)).complete
    assert found.value is None
    assert found.low == pytest.approx(stats.binomtest(2, 5).proportion_ci(0.95, method="exact").low)
    assert found.high == 1
    assert found.patience == math.inf
    assert "3 of 5" in found.open_because


def test_the_feasible_range_and_its_ends():
    rates = [10.0**-p for p in range(9)]
    steps = [math.nan, 100.0, 100, 100, 100, 100, 900, 900, 900]
    found = feasible_range(of_rates(steps, rates, limit=500), "learning_rate")
    assert (found.low.value, found.high.value) == (1e-5, 0.1)
    assert found.octaves.value == pytest.approx(math.log2(1e4))
    assert found.low.high == 1e-5
    assert found.high.low == 0.1
    assert found.high.high == pytest.approx(0.1 * (1e4) ** (0.025**-0.25 - 1))
    assert found.octaves.n == 5


def test_an_outpaced_rate_outside_opens_its_side():
    steps = [900.0, 100, 100, 100, 100, math.nan]
    rates = [1e-4, 1e-3, 1e-2, 2e-2, 5e-2, 1.0]
    found = feasible_range(of_rates(steps, rates, patience=2), "learning_rate")
    assert found.low.low is None
    assert found.low.patience == math.inf
    assert found.high.high is not None
    assert found.octaves.high is None
    few = feasible_range(of_rates([100.0, 120, math.nan], RATES[:3]), "learning_rate")
    assert few.high.high is None
    assert few.high.patience is None
    none = feasible_range(of_rates([math.nan] * 5), "learning_rate")
    assert none.octaves.value is None
    assert feasible_range(of_rates([100.0]), "momentum") is None


def test_the_ends_are_covered():
    rng = np.random.default_rng(0)
    inside = np.zeros(3)
    for _ in range(1000):
        rates = np.exp(rng.uniform(-6, -1, size=8))
        found = feasible_range(of_rates([100.0] * 8, list(rates)), "learning_rate")
        inside += [
            found.low.covers(math.exp(-6)),
            found.high.covers(math.exp(-1)),
            found.octaves.covers(5 / math.log(2)),
        ]
    # Each end is bounded outwards only, at 2.5 %.
    assert inside[:2] / 1000 == pytest.approx([0.975, 0.975], abs=0.015)
    assert inside[2] >= 950
