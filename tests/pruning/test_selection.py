"""Selection keeps exactly k, and ties are defined."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from parsity.errors import UsageError
from parsity.pruning import eligible_entries, kept_number, select

# Few distinct values, so that most draws have ties at the threshold; -0.0 must tie with 0.0.
SCORES = st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.25, 1.0, 7.5]), min_size=1, max_size=60)
SPARSITIES = st.floats(0, 1, exclude_max=True)


def _slowly(scores: list[float], sparsity: float, eligible: list[bool]) -> list[bool]:
    taking_part = [index for index, takes_part in enumerate(eligible) if takes_part]
    number = round(len(taking_part) * (1 - sparsity))
    best = sorted(taking_part, key=lambda index: (-scores[index], index))[:number]
    return [not takes_part or index in best for index, takes_part in enumerate(eligible)]


@given(st.data(), SCORES, SPARSITIES)
def test_select_is_a_stable_sort_from_the_top(data, scores, sparsity):
    eligible = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))

    found = select(torch.tensor(scores), sparsity, torch.tensor(eligible))

    assert found.tolist() == _slowly(scores, sparsity, eligible)


@given(SCORES, SPARSITIES)
def test_exactly_k_are_kept_whatever_the_ties(scores, sparsity):
    assert int(select(torch.tensor(scores), sparsity).sum()) == round(len(scores) * (1 - sparsity))


def test_k_is_the_papers():
    assert [kept_number(62_346, s) for s in (0, 0.5, 0.7, 0.9)] == [62_346, 31_173, 18_704, 6_235]


@pytest.mark.parametrize("sparsity", [-0.1, 1.0, 90, math.nan])
def test_an_impossible_sparsity_is_refused_with_what_is_allowed(sparsity):
    with pytest.raises(UsageError, match=r"at least 0 and below 1"):
        select(torch.ones(3), sparsity)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused_with_their_place(value):
    with pytest.raises(UsageError, match=r"entry 2 has -?(nan|inf)"):
        select(torch.tensor([1.0, 2.0, value, 3.0]), 0.5)


def test_scores_that_do_not_take_part_need_not_be_finite():
    kept = select(torch.tensor([math.nan, 1.0, 2.0]), 0.5, torch.tensor([False, True, True]))

    assert kept.tolist() == [True, False, True]


def test_who_takes_part():
    network = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2, 1))
    weights = [True] * 2 + [False] * 6 + [True] * 2 + [False]

    assert eligible_entries(network).all()
    assert eligible_entries(network, "weights").tolist() == weights
    assert eligible_entries(network, ["3.bias"]).tolist() == [False] * 10 + [True]


@pytest.mark.parametrize("eligible", ["biases", ["0.weight", "nose"]])
def test_unknown_tensors_are_refused(eligible):
    with pytest.raises(UsageError, match=r"eligible: .*(biases|nose)"):
        eligible_entries(nn.Sequential(nn.Linear(2, 2)), eligible)
