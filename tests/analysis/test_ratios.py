"""Curves against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up import GRID, cell, curve_cells, lognormal
from test_resampling import drawn
from test_scaling import law

from parsity.analysis import Resampling, curves, draw, fit_scaling, ratios
from parsity.analysis.ratios import normalised


def pair(upper, lower, **known):
    """Two curves of one study, resampled together."""
    both = curves([*upper, *lower])
    resampling = Resampling(both, **known)
    sparse = next(one for one in both if one.sparsity)
    dense = next(one for one in both if not one.sparsity)
    return draw(sparse, resampling), draw(dense, resampling)


def test_the_ratio_at_each_batch_size_and_its_mean():
    rng = np.random.default_rng(0)
    luck = lognormal(rng, 16, len(GRID), shared=1.0)
    found = ratios(
        *pair(curve_cells(lambda b: 300 * law(b), luck, sparsity=0.9), curve_cells(lambda b: 100 * law(b), luck))
    )
    assert [point.batch_size for point in found.points] == list(GRID)
    for point in found.points:
        assert point.ratio.value == pytest.approx(3, rel=0.01)
        assert point.ratio.n == 16
        # All luck is shared, so nearly all of it cancels.
        assert point.ratio.high / point.ratio.low < 1.1
    assert found.mean.value == pytest.approx(3, rel=0.001)
    assert found.slope.value == pytest.approx(0, abs=0.001)
    assert (found.sparsity, found.against) == (0.9, 0.0)


def test_the_slope_is_that_of_a_line_through_the_logarithms():
    rng = np.random.default_rng(1)
    sparse = curve_cells(lambda b: 400 * law(b) * b**-0.1, lognormal(rng, 32, len(GRID)), sparsity=0.9)
    found = ratios(*pair(sparse, curve_cells(lambda b: 100 * law(b), lognormal(rng, 32, len(GRID)))))
    values = [point.ratio.value for point in found.points]
    assert found.slope.value == pytest.approx(np.polyfit(np.log2(GRID), np.log2(values), 1)[0])
    assert found.mean.value == pytest.approx(math.prod(values) ** (1 / len(values)))
    assert found.slope.covers(-0.1)


def test_a_side_open_above_opens_the_side_below_when_divided_by():
    close = [100.0 + i for i in range(16)]
    # Three complete within the patience: they tell the tail below, and do not bound the typical best above.
    wide = [100.0, 110.0, 120.0, *(1000.0 + i for i in range(13))]

    def at_two_batches(steps, **known):
        return [cell(steps, batch_size=batch, patience=2, **known) for batch in (2, 4)]

    down = ratios(*pair(at_two_batches(close, sparsity=0.9), at_two_batches(wide))).points[0].ratio
    assert down.low is None
    assert down.high is not None
    up = ratios(*pair(at_two_batches(wide, sparsity=0.9), at_two_batches(close))).points[0].ratio
    assert up.high is None
    assert up.low is not None
    assert up.patience > 2
    assert up.value == 1


def test_one_complete_trial_bounds_a_ratio_on_neither_side():
    close, alone = [100.0 + i for i in range(16)], [100.0, *(1000.0 + i for i in range(15))]
    found = ratios(*pair([cell(close, sparsity=0.9, patience=2)], [cell(alone, patience=2)])).points[0].ratio
    assert (found.value, found.low, found.high) == (1, None, None)
    assert found.patience == 4


def test_only_common_cells_are_compared():
    luck = np.linspace(1, 2, 8)[:, None] * np.ones((1, 3))
    sparse = curve_cells(law, luck, batch_sizes=(4, 8, 16), sparsity=0.9)
    dense = curve_cells(law, luck, batch_sizes=(2, 4, 8))
    assert [point.batch_size for point in ratios(*pair(sparse, dense)).points] == [4, 8]
    assert ratios(*pair(sparse[2:], dense)) is None
    assert ratios(*pair(sparse[:1], dense)).slope.value is None


@pytest.mark.soak
def test_coverage_of_the_ratio():
    rng = np.random.default_rng(6)
    inside = np.zeros(2)
    for repetition in range(500):
        luck = lognormal(rng, 16, 12, shared=0.5)
        sparse = curve_cells(lambda b: 30_000.0, luck[:, :6], batch_sizes=GRID[:6], sparsity=0.9)
        dense = curve_cells(lambda b: 10_000.0, luck[:, 6:], batch_sizes=GRID[:6])
        found = ratios(*pair(sparse, dense, draws=400, seed=repetition))
        inside += [found.points[2].ratio.covers(3), found.mean.covers(3)]
    print(f"\nratio at one batch size, mean ratio: {inside / 500}")  # noqa: T201
    assert (inside / 500 >= 0.93).all()


def test_normalised_curves():
    luck = np.linspace(1, 2, 16)[:, None] * np.ones((1, len(GRID)))
    curve = drawn(*curve_cells(lambda b: 100 * law(b), luck))
    points = normalised(curve, fit_scaling(curve).scaling)
    for batch, point in zip(GRID, points, strict=True):
        assert point.relative_steps == pytest.approx(law(batch) / law(2), rel=0.01)
        assert point.relative_batch == pytest.approx(batch / 400, rel=0.01)
        assert point.relative_to_floor == pytest.approx(1 + 400 / batch, rel=0.01)
    assert normalised(curve, None)[0].relative_batch is None


def patience_one(seed: int = 5, spread: float = 0.05):
    """Two curves of races that ended with their winner; the sparse one takes 3 B^-0.05 times the steps."""
    rng = np.random.default_rng(seed)

    def one(sparsity, level, power):
        made = []
        for batch in GRID:
            best = level * law(batch) * batch**power * math.exp(spread * rng.standard_normal())
            made.append(cell([best, *(9 * best for _ in range(15))], batch_size=batch, sparsity=sparsity, patience=1))
        return made

    return ratios(*pair(one(0.9, 300, -0.05), one(0.0, 100, 0.0)))


def test_where_the_race_ended_with_its_winner_the_scatter_of_batch_sizes_gives_the_interval():
    found = patience_one()
    assert not found.mean.closed
    assert not found.slope.closed
    assert found.believed_mean is found.scatter_mean
    assert found.believed_mean.value == pytest.approx(found.mean.value)
    assert found.believed_mean.n == len(GRID)
    assert found.believed_slope.below(0)
    assert found.believed_slope.value == pytest.approx(found.slope.value)
    assert found.believed_last.closed
    assert found.believed_last.value < found.points[0].ratio.value


def test_trials_that_bound_the_ratio_are_believed_first():
    luck = lognormal(np.random.default_rng(0), 16, len(GRID), shared=0.5)
    found = ratios(
        *pair(curve_cells(lambda b: 300 * law(b), luck, sparsity=0.9), curve_cells(lambda b: 100 * law(b), luck))
    )
    assert found.believed_mean is found.mean
    assert found.believed_slope is found.slope
    assert found.believed_last is found.points[-1].ratio


def test_coverage_of_the_scatter_of_ratios():
    drawn_anew = [patience_one(seed) for seed in range(60)]
    truth = 3 * math.exp(-0.05 * float(np.log(GRID).mean()))
    assert sum(found.scatter_mean.covers(truth) for found in drawn_anew) >= 51
    assert sum(found.scatter_slope.covers(-0.05) for found in drawn_anew) >= 51


def test_two_batch_sizes_do_not_scatter():
    steps = [100.0, *(900.0 for _ in range(15))]
    sparse, dense = ([cell(steps, batch_size=b, sparsity=s, patience=1) for b in (2, 4)] for s in (0.9, 0.0))
    found = ratios(*pair(sparse, dense))
    assert not found.believed_mean.closed
    assert found.scatter_mean.value is None
