"""How much luck trials share is found again from their ranks, whatever the patience."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from made_up import cell, curve_cells, lognormal
from scipy.special import digamma
from scipy.stats import rankdata

from parsity.analysis import curves
from parsity.analysis.luck import _agreement, shared_luck


def cells_of(luck, **known):
    batches = [2**power for power in range(1, luck.shape[1] + 1)]
    return curves(curve_cells(lambda _: 10_000.0, luck, batch_sizes=batches, **known))[0].cells


@pytest.mark.parametrize("patience", [math.inf, 2.0])
@pytest.mark.parametrize("shared", [0.0, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("trials", [16, 100])
def test_the_share_is_found_again(trials, shared, patience):
    rng = np.random.default_rng(0)
    found = [
        shared_luck(cells_of(lognormal(rng, trials, 10, shared=shared), patience=patience, interval=16))
        for _ in range(12)
    ]
    assert np.mean(found) == pytest.approx(shared, abs=0.1)


def test_the_distribution_of_steps_does_not_matter():
    luck = lognormal(np.random.default_rng(1), 32, 6)
    powers = luck ** np.array([0.5, 1, 2, 3, 0.2, 1])
    assert shared_luck(cells_of(luck * 1000)) == shared_luck(cells_of(powers * 1e3))


def test_luck_that_is_all_shared_and_luck_that_is_opposed():
    luck = lognormal(np.random.default_rng(2), 16, 2, shared=1.0)
    assert shared_luck(cells_of(luck)) == 1
    luck[:, 1] = 1 / luck[:, 1]
    assert shared_luck(cells_of(luck)) == 0


def test_agreement_is_the_mean_correlation_over_pairs():
    luck = lognormal(np.random.default_rng(3), 12, 5)
    ranks = rankdata(np.round(luck, 1), axis=0)
    fast = _agreement(ranks[None], np.ones(ranks.shape, dtype=bool))[0]
    scores = digamma(ranks)
    slow = [np.corrcoef(scores[:, j], scores[:, k])[0, 1] for j, k in combinations(range(5), 2)]
    assert fast == pytest.approx(np.mean(slow))


def test_cells_with_other_trials_and_cells_without_a_complete_one():
    luck = 1000 * lognormal(np.random.default_rng(4), 40, 6, shared=0.9)
    parts = [
        cell(list(luck[: 40 - 5 * place, place]), batch_size=2**place, limit=10 if place == 2 else 10**6)
        for place in range(6)
    ]
    assert shared_luck(curves(parts)[0].cells) == pytest.approx(0.9, abs=0.1)


def test_nothing_to_compare_is_taken_as_shared():
    luck = lognormal(np.random.default_rng(5), 8, 2)
    assert shared_luck(()) == 1
    assert shared_luck(cells_of(luck[:, :1])) == 1
    assert shared_luck(cells_of(luck[:1])) == 1
    apart = [cell(list(luck[:, place] * 100), batch_size=2**place, first=1 + 8 * place) for place in range(2)]
    assert shared_luck(curves(apart)[0].cells) == 1
