"""Seconds-to-result against studies whose truth is known: law x pace, and who is there first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up import GOAL, cell, curve_cells, lognormal
from scipy.stats import binom

from parsity.analysis import MeasuredStudy, analyse, seconds_of

BATCHES = (8, 64, 512)


def timed(cells, pace, *, spread=0.02, seed=0):
    """The same cells, their trials' steps taking ``pace(B)`` seconds, give or take."""
    rng = np.random.default_rng(seed)
    return [
        replace(
            one,
            trials=tuple(
                replace(trial, step_seconds=pace(one.batch_size) * float(np.exp(spread * rng.standard_normal())))
                for trial in one.trials
            ),
        )
        for one in cells
    ]


def study(*, sparse_pace, steps=3.0, trials=32, **known) -> MeasuredStudy:
    """Sparse takes ``steps`` times the steps of dense, of which each takes 1 ms per image."""
    luck = lognormal(np.random.default_rng(1), trials, len(BATCHES), shared=1.0, spread=0.3)
    dense = curve_cells(lambda b: 20_000 / b + 100, luck, batch_sizes=BATCHES)
    sparse = curve_cells(lambda b: steps * (20_000 / b + 100), luck, batch_sizes=BATCHES, sparsity=0.9)
    cells = [*timed(dense, lambda b: 1e-3 * b, **known), *timed(sparse, sparse_pace, seed=5, **known)]
    return MeasuredStudy(name="made up", cells=tuple(cells))


def test_seconds_are_steps_times_the_median_pace():
    (found,) = seconds_of(study(sparse_pace=lambda b: 1e-3 * b / 6))
    assert (found.goal, found.against) == (GOAL, 0.0)
    assert [(one.batch_size, one.sparsity) for one in found.cells] == [(b, s) for b in BATCHES for s in (0.0, 0.9)]
    for one in found.cells:
        pace = 1e-3 * one.batch_size / (6 if one.sparsity else 1)
        assert one.step_seconds.value == pytest.approx(pace, rel=0.02)
        assert one.step_seconds.low < one.step_seconds.value < one.step_seconds.high
        assert one.seconds.value == pytest.approx(one.steps.value * one.step_seconds.value)
        assert one.seconds.low < one.seconds.value < one.seconds.high
        # Steps are far less certain than their times.
        widths = [x.high / x.low for x in (one.steps, one.seconds)]
        assert widths[1] == pytest.approx(widths[0], rel=0.05)
        assert (one.ratio is None) == (one.sparsity == 0)


@pytest.mark.parametrize(("gain", "verdict"), [(6, "faster"), (3, "unsettled"), (1.5, "slower")])
def test_who_is_there_first(gain, verdict):
    (found,) = seconds_of(study(sparse_pace=lambda b: 1e-3 * b / gain))
    for one in found.cells:
        if one.sparsity:
            assert one.ratio.value == pytest.approx(3 / gain, rel=0.05)
            assert one.ratio.covers(3 / gain)
            assert one.verdict == verdict
    assert found.batch_sizes(0.9, verdict) == BATCHES


def test_where_sparse_overtakes_dense_is_said_in_words():
    (found,) = seconds_of(study(sparse_pace=lambda b: 1e-3 * b / {8: 1, 64: 3, 512: 9}[b]))
    assert found.words(0.9) == (
        "sparsity 0.9 overtakes dense at batch size 512; is slower than dense at 8; cannot be told from dense at 64"
    )


def test_too_few_times_leave_the_interval_open():
    (found,) = seconds_of(study(sparse_pace=lambda b: 1e-4 * b, trials=5))
    for one in found.cells:
        assert one.step_seconds.low is None
        assert one.step_seconds.high is None
        assert "5 trials: an interval takes 6" in one.step_seconds.open_because
        assert not one.seconds.closed
        assert one.verdict in (None, "unsettled")


def test_the_interval_of_the_pace_is_that_of_order_statistics():
    times = np.exp(np.random.default_rng(3).standard_normal(16))
    one = cell([100.0 + i for i in range(16)], batch_size=8)
    one = replace(one, trials=tuple(replace(t, step_seconds=float(s)) for t, s in zip(one.trials, times, strict=True)))
    (found,) = seconds_of(MeasuredStudy(name="x", cells=(one,)), draws=4000)
    (pace,) = (each.step_seconds for each in found.cells)
    ordered = np.sort(times)
    # P(median < x_j) = P(Binomial(16, 1/2) >= j) for the true median: the interval's ends lie between these two.
    inner = [j for j in range(1, 17) if binom.sf(j - 1, 16, 0.5) > 0.025 and binom.cdf(j - 1, 16, 0.5) > 0.025]
    assert ordered[inner[0] - 2] <= pace.low <= ordered[inner[0] - 1]
    assert ordered[inner[-1] - 1] <= pace.high <= ordered[inner[-1]]
    assert pace.value == np.median(times)


def test_untimed_studies_and_cells_without_a_result_are_left_out():
    plain = replace(study(sparse_pace=lambda b: 1.0), cells=(cell([10.0, 20.0]), cell([30.0, 40.0], sparsity=0.9)))
    assert seconds_of(plain) == ()
    (dense, sparse) = timed(plain.cells, lambda b: 1.0)
    (found,) = seconds_of(replace(plain, cells=(plain.cells[0], sparse)))
    assert [(one.sparsity, one.ratio) for one in found.cells] == [(0.9, None)]
    never = timed([cell([5e9, 5e9], sparsity=0.9)], lambda b: 1.0)
    (found,) = seconds_of(replace(plain, cells=(dense, *never)))
    assert [one.sparsity for one in found.cells] == [0.0]


def test_the_analysis_has_them_too():
    made = study(sparse_pace=lambda b: 1e-3 * b / 6)
    assert analyse([made], draws=200).studies[0].seconds == seconds_of(made, draws=200)
