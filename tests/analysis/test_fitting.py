"""The fit against scipy's, in another parametrisation, and against curves from the literature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up import GRID, measured_points
from scipy.optimize import least_squares
from test_resampling import drawn

from parsity.analysis import fit, fit_knee, fit_scaling
from parsity.analysis.fitting import influence

MNIST = {2: 30_000, 8: 8_600, 32: 2_260, 128: 650, 512: 290, 2_048: 170, 8_192: 185}
CIFAR = {2: 131_000, 8: 32_000, 32: 6_300, 128: 1_970, 512: 870, 2_048: 929}
B = np.array(GRID, dtype=float)


def slow_fit(batches, steps, sharp=False):
    """c1 and c2 themselves, bounded below by zero, from several starts."""
    best = None
    for critical in (1.0, 30.0, 1000.0, 30_000.0):
        start = [steps[0] * batches[0], steps[0] * batches[0] / critical] + [1.0] * sharp

        def residuals(p):
            s = p[2] if sharp else 1.0
            return np.log(steps) - np.log((p[0] / batches) ** s + p[1] ** s) / s

        low = [0.0, 0.0] + [0.25] * sharp
        high = [np.inf, np.inf] + [16.0] * sharp
        found = least_squares(residuals, start, bounds=(low, high), x_scale=start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if best is None or found.cost < best.cost:
            best = found
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_formula_is_fitted_as_scipy_does(seed):
    rng = np.random.default_rng(seed)
    c1, c2 = np.exp(rng.uniform([8, 3], [13, 7]))
    steps = (c1 / B + c2) * np.exp(0.2 * rng.standard_normal(len(B)))
    fast, slow = fit(B, np.log(steps)), slow_fit(B, steps)
    assert np.exp([fast.log_c1[0], fast.log_c2[0]]) == pytest.approx(slow.x[:2], rel=1e-4)
    assert fast.squares[0] == pytest.approx(2 * slow.cost, rel=1e-7)
    assert fast.log_critical[0] == pytest.approx(fast.log_c1[0] - fast.log_c2[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_knee_is_fitted_as_scipy_does(seed):
    rng = np.random.default_rng(seed)
    steps = ((60_000 / B) ** 2 + 150.0**2) ** 0.5 * np.exp(0.1 * rng.standard_normal(len(B)))
    fast, slow = fit_knee(B, np.log(steps)), slow_fit(B, steps, sharp=True)
    assert fast.squares[0] == pytest.approx(2 * slow.cost, rel=1e-3)
    assert fast.sharpness[0] == pytest.approx(slow.x[2], rel=0.03)


def test_rows_are_fitted_each_on_its_own():
    rng = np.random.default_rng(0)
    rows = np.log(60_000 / B + 150) + 0.3 * rng.standard_normal((5, len(B)))
    together = fit(B, rows)
    for row in range(5):
        alone = fit(B, rows[row])
        assert together.log_c1[row] == pytest.approx(alone.log_c1[0])
        assert together.squares[row] == pytest.approx(alone.squares[0])


def test_exact_data_give_exact_parameters():
    found = fit(B, np.log(60_000 / B + 150))
    assert np.exp(found.log_c1[0]) == pytest.approx(60_000, rel=1e-6)
    assert np.exp(found.log_c2[0]) == pytest.approx(150, rel=1e-6)
    assert found.log_steps(B)[0] == pytest.approx(np.log(60_000 / B + 150))
    slope = -np.gradient(found.log_steps(np.array([99.0, 101.0]))[0], np.log([99.0, 101.0]))
    assert found.slope(100.0)[0] == pytest.approx(slope[0], abs=1e-4)


def test_terms_that_are_not_there_are_zero():
    linear, flat = fit(B, np.log(1e6 / B)), fit(B, np.full(len(B), math.log(300)))
    assert linear.log_c2[0] == -np.inf
    assert linear.log_critical[0] == np.inf
    assert np.exp(linear.log_c1[0]) == pytest.approx(1e6, rel=1e-3)
    assert np.exp(flat.log_c1[0]) == 0
    assert np.exp(flat.log_c2[0]) == pytest.approx(300, rel=1e-3)
    assert linear.slope(64.0)[0] == 1
    assert flat.slope(64.0)[0] == pytest.approx(0)


def test_influences_are_those_of_small_changes():
    y = np.log(60_000 / B + 150) + 0.1 * np.sin(np.arange(len(B)))
    c1, c2, critical = influence(B, y)
    assert critical == pytest.approx(c1 - c2, abs=1e-6)
    # A common factor goes to both terms whole, and leaves c1/c2.
    assert (c1.sum(), c2.sum()) == pytest.approx((1, 1), abs=0.02)
    assert c1[0] > 0 > c2[0]
    assert c2[-1] > 0 > c1[-1]


@pytest.mark.parametrize(
    ("points", "residual", "critical"), [(MNIST, (0.09, 0.13), (390, 480)), (CIFAR, (0.25, 0.29), (270, 400))]
)
def test_shallue(points, residual, critical):
    """Shallue et al. (2019), read off their plots: 0.12 octave, c1/c2 about 435 (MNIST); 0.27 octave (CIFAR-10)."""
    scaling = fit_scaling(drawn(*measured_points(points))).scaling
    assert residual[0] < scaling.residual < residual[1]
    assert critical[0] < scaling.critical_batch.value < critical[1]
    assert scaling.scatter_critical_batch.covers(435)
    # One trial per cell leaves what resampling bounds open; the scatter about the fit does not need a cloud.
    assert not scaling.critical_batch.closed
    assert scaling.scatter_critical_batch.closed


def test_the_knee_of_cifar_is_sharper_than_the_formula_has_it():
    knee = fit_scaling(drawn(*measured_points(CIFAR))).scaling.knee
    assert knee.sharpness.value > 2
    assert knee.residual < 0.15
    assert fit_scaling(drawn(*measured_points(MNIST))).scaling.knee.sharpness.value == pytest.approx(1, abs=0.2)
