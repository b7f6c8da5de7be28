"""The certified test equals the plain count, always; the confident one errs less often than it says."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import parsity.training.goal_test as module
from parsity.errors import UsageError
from parsity.training import CertifiedTest, ConfidentTest, most_mistakes
from parsity.training.goal_test import stopping_bounds


@given(
    count=st.integers(1, 400),
    rates=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    goals=st.lists(st.floats(0, 0.99), min_size=1, max_size=3, unique=True),
    slices=st.tuples(st.integers(1, 40), st.integers(1, 120)),
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["certified", "certified with not-a-number"]),
)
@settings(max_examples=300, deadline=None)
def test_the_answer_is_the_plain_counts(count, rates, goals, slices, seed, kind):
    """Over several tests in a row, so that every order that a past can bring about is met."""
    generator = torch.Generator().manual_seed(seed)
    validation = torch.randperm(1000, generator=generator)[:count]
    original = module.SMALLEST_SLICE, module.LARGEST_SLICE
    module.SMALLEST_SLICE, module.LARGEST_SLICE = min(slices), max(slices)
    try:
        test = CertifiedTest(validation)
        for step, rate in enumerate(rates):
            margins = torch.rand(1000, generator=generator) - rate
            if kind != "certified":
                margins[torch.rand(1000, generator=generator) < 0.2] = float("nan")
            asked = []

            def answer(images, margins=margins, asked=asked):
                asked.append(images)
                return margins[images]

            verdict = test(answer, goals, step)
            wrong = count - int((margins[validation] > 0).sum())
            assert verdict.met == {goal: Fraction(wrong, count) <= Fraction(repr(goal)) for goal in goals}
            looked = torch.cat(asked)
            assert verdict.looked == len(looked) == len(looked.unique())
    finally:
        module.SMALLEST_SLICE, module.LARGEST_SLICE = original


def test_last_times_mistakes_are_asked_first():
    """A trial whose mistakes stay the same is refused after the first slices, however few there are."""
    margins = torch.ones(6000)
    margins[torch.randperm(6000, generator=torch.Generator().manual_seed(0))[:150]] = -1
    test = CertifiedTest(torch.arange(6000))
    first = test(margins.__getitem__, [0.02], 16)
    again = test(margins.__getitem__, [0.02], 32)
    assert first.met == again.met == {0.02: False}
    assert first.looked > 3000
    assert again.looked <= 121 + module.SMALLEST_SLICE


@pytest.mark.parametrize(
    ("goal", "count", "allowed"), [(0.12, 6000, 720), (0.02, 6000, 120), (0.07, 100, 7), (0.4, 5000, 2000), (0.0, 9, 0)]
)
def test_a_goal_is_the_decimal_it_is_written_as(goal, count, allowed):
    assert most_mistakes(goal, count) == allowed


@pytest.mark.parametrize("goal", [-0.1, 1.0, float("nan"), float("inf")])
def test_an_impossible_goal_is_refused(goal):
    with pytest.raises(UsageError, match="at least 0 and below 1"):
        most_mistakes(goal, 10)


@pytest.mark.parametrize(("allowed", "count"), [(720, 6000), (2000, 5000), (10, 200), (0, 130), (199, 200)])
def test_the_confident_test_fails_as_rarely_as_it_says(allowed, count):
    """Summed over the stops, the exact chance of a wrong answer in the two worst cases is at most the stated one."""
    failure = 1e-3
    bounds = stopping_bounds(allowed, count, 64, failure)
    stops = [*range(64, count, 64), count]
    assert len(bounds) == len(stops)
    wrongly_refused = sum(
        hypergeom.sf(refuse - 1, count, allowed, n) for n, (_, refuse) in zip(stops, bounds, strict=True)
    )
    wrongly_accepted = sum(
        hypergeom.cdf(accept, count, allowed + 1, n) for n, (accept, _) in zip(stops, bounds, strict=True)
    )
    assert wrongly_refused <= failure
    assert wrongly_accepted <= failure


def test_the_confident_test_by_simulation():
    """With a failure probability large enough to be seen, it stays below; and it looks at fewer images."""
    generator = np.random.default_rng(0)
    test = ConfidentTest(torch.arange(1000), seed=1)
    looked = []
    for step in range(200):
        wrong = generator.choice([200, 300, 500])
        margins = torch.ones(1000)
        margins[torch.from_numpy(generator.permutation(1000)[:wrong])] = -1
        verdict = test(margins.__getitem__, [0.4], step)
        assert verdict.met == {0.4: wrong <= 400}
        looked.append(verdict.looked)
    assert np.mean(looked) < 600
