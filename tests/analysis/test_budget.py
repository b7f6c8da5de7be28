"""The best of n trials, against every choice of n; and whether the budget was enough."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from made_up import GOAL, cell
from test_resampling import drawn

from parsity.analysis import CurveCell, best_of, best_of_weights, cell_budget, curve_budget


@pytest.mark.parametrize("total", [1, 2, 5, 8])
def test_weights_are_those_of_all_choices(total):
    weights = best_of_weights(total)
    for n in range(1, total + 1):
        firsts = [min(choice) for choice in combinations(range(total), n)]
        expected = [firsts.count(j) / len(firsts) for j in range(total)]
        assert weights[n - 1] == pytest.approx(expected)


def test_weights_of_many_trials_are_those_of_the_formula():
    weights = best_of_weights(100)
    for n, j in ((1, 1), (50, 3), (99, 2), (100, 1), (7, 80)):
        assert weights[n - 1, j - 1] == pytest.approx(math.comb(100 - j, n - 1) / math.comb(100, n))


STEPS = [300.0, 100, 250, 170, 120, 180]


def test_the_best_of_n_is_the_mean_over_all_choices():
    rows = best_of(CurveCell.of(cell(STEPS), GOAL), None)
    for row in rows:
        bests = [min(choice) for choice in combinations(STEPS, row.n)]
        assert row.expected == pytest.approx(sum(bests) / len(bests))
        assert row.at_least == row.expected
        assert row.found == pytest.approx(1)


def test_an_outpaced_trial_counts_as_at_least_its_bound():
    rows = best_of(CurveCell.of(cell(STEPS, patience=1.75), GOAL), None)
    cut = [min(steps, 175.0) for steps in STEPS]
    for row in rows:
        bests = [min(choice) for choice in combinations(cut, row.n)]
        assert row.at_least == pytest.approx(sum(bests) / len(bests))
        assert (row.expected is None) == (row.n <= 3)
        assert row.found == pytest.approx(sum(best < 175 for best in bests) / len(bests))


def test_the_median_best_is_told_where_half_of_the_choices_find_one():
    found = drawn(cell(STEPS, patience=1.75)).cells[0]
    rows = best_of(found.cell, found)
    for row in rows:
        bests = sorted(min(choice) for choice in combinations(STEPS, row.n))
        median = bests[(len(bests) - 1) // 2]
        assert row.typical.value == (median if median <= 175 else None)


def test_an_infeasible_trial_is_never_the_best():
    rows = best_of(CurveCell.of(cell([100.0, math.nan, 200]), GOAL), None)
    assert rows[0].expected is None
    assert rows[0].at_least is None
    assert rows[0].found == pytest.approx(2 / 3)
    assert rows[1].expected == pytest.approx((100 + 100 + 200) / 3)


def test_a_flat_cloud_was_enough():
    budget = cell_budget(drawn(cell([1000.0 + i for i in range(32)])).cells[0])
    assert budget.verdict == "enough"
    assert budget.gain.high < 0.1
    assert budget.last_gain < 0.02


def test_a_steep_cloud_wants_more():
    rng = np.random.default_rng(0)
    cells = [cell(list(10_000 * rng.random(64)), batch_size=2**j) for j in range(8)]
    budget = curve_budget(drawn(*cells))
    assert budget.verdict == "more would help"
    assert budget.gain.covers(0.5)
    assert budget.last_gain == pytest.approx(0.5, abs=0.15)


def test_a_few_trials_cannot_say():
    budget = cell_budget(drawn(cell([100.0, 115, 140, 170, 190, 210, 240, 260])).cells[0])
    assert budget.verdict == "cannot be said"
    assert budget.gain.covers(0.1)


def test_what_patience_hides_is_not_judged():
    budget = cell_budget(drawn(cell([100.0, 115, 140, 170], patience=1)).cells[0])
    assert budget.verdict == "cannot be said"
    assert budget.gain.value is None
    assert budget.gain.patience == 2
