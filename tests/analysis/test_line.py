"""A line with Student's intervals, against scipy's and against what it should cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from parsity.analysis.line import line_through

X = np.log([2.0, 8, 32, 128, 512, 2048])


def test_the_line_is_that_of_scipy():
    y = 1.5 - 0.2 * X + np.random.default_rng(0).normal(0, 0.3, len(X))
    line, twin = line_through(X, y), stats.linregress(X, y)
    quantile = stats.t.ppf(0.975, len(X) - 2)
    rising, middle = line.rising(), line.middle()
    assert (rising.value, rising.n, rising.source) == (pytest.approx(twin.slope), 6, "scatter")
    assert rising.high - rising.value == pytest.approx(quantile * twin.stderr)
    assert middle.value == pytest.approx(y.mean())
    zero = line.height(0.0)
    assert zero.value == pytest.approx(twin.intercept)
    assert zero.value - zero.low == pytest.approx(quantile * twin.intercept_stderr)


def test_undoing_a_logarithm():
    y = math.log(3) + np.array([0.1, -0.1, 0.1, -0.1, 0.1, -0.1])
    found, plain = line_through(X, y).middle(math.exp), line_through(X, y).middle()
    assert found.value == pytest.approx(3)
    assert (found.low, found.high) == (math.exp(plain.low), math.exp(plain.high))


def test_points_on_a_line_leave_no_more_doubt_than_they_must():
    assert line_through(X, 2 * X).rising().high == pytest.approx(2)
    floor = line_through(X, 2 * X, least_variance=0.04).rising()
    quantile = stats.t.ppf(0.975, len(X) - 2)
    assert floor.high - 2 == pytest.approx(quantile * 0.2 / math.sqrt(float(((X - X.mean()) ** 2).sum())))


def test_two_points_make_no_line_with_an_interval():
    assert line_through(X[:2], X[:2]) is None


def test_coverage():
    rng = np.random.default_rng(1)
    inside = np.zeros(3)
    for _ in range(1000):
        line = line_through(X, 0.7 - 0.1 * X + rng.normal(0, 0.2, len(X)))
        last = X[-1]
        inside += [
            line.rising().covers(-0.1),
            line.middle().covers(0.7 - 0.1 * X.mean()),
            line.height(last).covers(0.7 - 0.1 * last),
        ]
    assert (np.abs(inside / 1000 - 0.95) < 0.025).all()
