"""The closed form of a noisy quadratic against a plain loop, and the bound against the closed form."""

from __future__ import annotations

import numpy as np
import pytest

from parsity.theory import NoisyQuadratic

SMALL = NoisyQuadratic(curvatures=(0.1, 0.7, 2.0), start=(3.0, -1.0, 0.5), variances=(0.3, 0.1, 0.8))


def by_recursion(problem: NoisyQuadratic, rate: float, batch: float, steps: int) -> list[float]:
    """E |grad f|^2 at every step, one update of E w^2 at a time."""
    h, w, c = map(np.array, (problem.curvatures, problem.start, problem.variances))
    second = w**2
    found = [float(h**2 @ second)]
    for _ in range(steps):
        second = (1 - rate * h) ** 2 * second + rate**2 * c / batch
        found.append(float(h**2 @ second))
    return found


@pytest.mark.parametrize("rate", [0.001, 0.3, 0.5, 0.9, 1.0, 1.1])
def test_the_closed_form_is_the_recursion(rate):
    slow = by_recursion(SMALL, rate, 8, 60)
    assert [SMALL.gradient_square(rate, 8, k) for k in range(61)] == pytest.approx(slow, rel=1e-9)


def test_the_closed_form_is_the_mean_of_many_runs():
    rng = np.random.default_rng(0)
    h, start, c = map(np.array, (SMALL.curvatures, SMALL.start, SMALL.variances))
    w = np.tile(start, (20_000, 1))
    for _ in range(10):
        w = w - 0.3 * (h * w + np.sqrt(c / 4) * rng.standard_normal(w.shape))
    assert ((h * w) ** 2).sum(axis=1).mean() == pytest.approx(SMALL.gradient_square(0.3, 4, 10), rel=0.02)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.4])
def test_steps_are_the_first_of_the_recursion(rate):
    slow = by_recursion(SMALL, rate, 16, 20_000)
    for goal in (0.5, 0.05):
        first = next((k for k, value in enumerate(slow) if value <= goal), None)
        assert SMALL.steps(goal, rate, 16) == first


def test_best_is_the_best_of_the_rates():
    rates = np.geomspace(0.001, 1, 40)
    slow = min((steps, rate) for rate in rates if (steps := SMALL.steps(0.05, rate, 64)) is not None)
    assert SMALL.best(0.05, 64, rates=rates) == slow
    assert SMALL.best(1e-9, 1, rates=rates) is None


@pytest.mark.parametrize("batch", [1, 8, 64, 1024])
def test_the_bound_holds(batch):
    """(5): the average of |grad f|^2 over the steps is never above the bound, whatever rate it allows."""
    constants = SMALL.assumptions
    assert constants.rate_limit == 0.5
    for share in (0.01, 0.3, 1.0):
        rate = share * constants.rate_limit
        averages = np.cumsum(by_recursion(SMALL, rate, batch, 3000))[:-1] / np.arange(1, 3001)
        bounds = [constants.bound(rate, batch, k) for k in range(1, 3001)]
        assert (averages <= bounds).all()


def test_the_bound_is_met_where_it_is_tight():
    """One coordinate at eta = 1/L, as the noise goes: after a step all is noise, eta L beta/B, as (5) has it."""
    one = NoisyQuadratic(curvatures=(2.0,), start=(0.0,), variances=(0.6,))
    assert one.gradient_square(0.5, 4, 50) == pytest.approx(one.assumptions.bound(0.5, 4, 1e12))


def test_the_best_rate_falls_with_the_batch_and_ends_between_one_and_two_over_l():
    rates = [SMALL.best(0.02, batch)[1] for batch in (1, 4, 16, 64, 2**20)]
    assert rates == sorted(rates)
    assert rates[1] / rates[0] == pytest.approx(4, rel=0.25)
    assert 1 <= rates[-1] * SMALL.assumptions.lipschitz <= 2
