"""The cost model against constructed truths: its parameters come back, outliers hardly move them, errors are stated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from known_truth import SIZES, TRUTH, lognormal, step_times
from scipy.optimize import least_squares

from parsity.errors import UsageError
from parsity.planning import Cluster, fit_cost_model, middle_and_worst, validate
from parsity.planning.regression import fit_relative


def test_parameters_come_back() -> None:
    found = fit_cost_model(step_times())
    for sparsity in TRUTH.overhead:
        assert found.overhead[sparsity] == pytest.approx(TRUTH.overhead[sparsity], rel=1e-6)
        assert found.per_image[sparsity] == pytest.approx(TRUTH.per_image[sparsity], rel=1e-6)
    assert found.gamma == TRUTH.gamma
    assert found.latency == pytest.approx(TRUTH.latency, rel=1e-6)
    assert found.byte_seconds == pytest.approx(TRUTH.byte_seconds, rel=1e-6)
    assert found.waiting == pytest.approx(TRUTH.waiting, rel=1e-6)


def test_noise_and_outliers_hardly_move_them() -> None:
    times = step_times(noise=lognormal(1, 0.03))
    rows = list(times.rows)
    for place in (3, 17, 30):  # somebody else was busy on the machine
        rows[place] = replace(rows[place], compute=8 * rows[place].compute, exchange=8 * rows[place].exchange)
    found = fit_cost_model(replace(times, rows=tuple(rows)))
    for sparsity in TRUTH.overhead:
        assert found.per_image[sparsity] == pytest.approx(TRUTH.per_image[sparsity], rel=0.06)
    for size in SIZES:
        for workers in (1, 2, 4, 8):
            truth = TRUTH.step(size, workers, 0.9).seconds
            assert found.step(size, workers, 0.9).seconds == pytest.approx(truth, rel=0.12)


def test_robust_regression_is_scipys_huber() -> None:
    """The same minimum as a general optimiser's, for the scale that the weights ended with."""
    chance = np.random.default_rng(3)
    terms = np.column_stack([np.ones(40), chance.uniform(1, 100, 40)])
    truth = np.array([2.0, 0.3])
    measured = terms @ truth * np.exp(0.05 * chance.standard_normal(40))
    measured[5] *= 10
    found = fit_relative(terms, measured)
    errors = np.abs(terms @ found / measured - 1)
    scale = 1.345 * np.median(errors) / 0.6745
    twin = least_squares(lambda x: terms @ x / measured - 1, truth, loss="huber", f_scale=scale, xtol=1e-14, ftol=1e-14)
    assert found == pytest.approx(twin.x, rel=1e-3)


def test_what_cannot_be_negative_is_not() -> None:
    found = fit_relative(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]]), np.array([1.0, 3.0, 7.0]))
    assert found[0] == 0
    assert found[1] > 0


def test_a_described_cluster_takes_the_place_of_what_was_measured() -> None:
    cluster = Cluster(bandwidth=1.25e9, latency=2e-5, device_speed=50.0)
    model = fit_cost_model(step_times()).on(cluster)
    step = model.step(32, 16, 0.0)
    compute = (4e-4 + 32 * 1e-4) / 50
    assert step.compute == pytest.approx(compute, rel=1e-6)  # nobody shares a device
    sent = 2 * 15 / 16 * 4 * 62346 / 1.25e9
    assert step.exchange == pytest.approx(2 * 15 * 2e-5 + sent + 0.05 * compute, rel=1e-6)
    halving = fit_cost_model(step_times()).on(replace(cluster, exchange="halving")).step(32, 16, 0.0)
    assert step.exchange - halving.exchange == pytest.approx((2 * 15 - 2 * 4) * 2e-5, rel=1e-6)
    # What is not described stays as measured.
    assert fit_cost_model(step_times()).on(Cluster()).latency == pytest.approx(TRUTH.latency, rel=1e-6)
    assert model.step(32, 1, 0.0).exchange == 0


def test_pruned_networks_send_less_and_other_sparsities_lie_between() -> None:
    model = fit_cost_model(step_times())
    dense, sparse = model.step(2, 8, 0.0), model.step(2, 8, 0.9)
    fewer = 2 * 7 / 8 * 4 * (62346 - 6235) * 1e-9
    assert dense.exchange - sparse.exchange == pytest.approx(fewer + 0.05 * (dense.compute - sparse.compute), rel=1e-6)
    between = model.step(32, 2, 0.45)
    assert model.step(32, 2, 0.9).compute < between.compute < model.step(32, 2, 0.0).compute
    assert model.bytes_sent(0.5) == 2 * 62346
    assert model.step(32, 1, 0.99) == model.step(32, 1, 0.9)


def test_held_out_combinations_are_predicted() -> None:
    times = step_times(noise=lognormal(2, 0.02))
    found = validate(times, fit_cost_model(times))
    assert len(found.fitted) == len(times.rows)
    assert len(found.held_out) == len(times.rows)
    middle, worst = middle_and_worst(found.held_out)
    assert middle < 0.05
    assert worst < 0.25
    assert 0 < found.spread("compute") < 0.05
    one = found.held_out[0]
    # The twin: the model of the rows without that combination.
    rest = tuple(r for r in times.rows if (r.slice_size, r.workers) != (one.slice_size, one.workers))
    again = fit_cost_model(replace(times, rows=rest)).step(one.slice_size, one.workers, one.sparsity)
    assert again == one.predicted


def test_one_worker_alone_tells_no_exchange() -> None:
    model = fit_cost_model(step_times(workers=(1,)))
    assert not model.knows_exchange
    assert math.isnan(model.step(8, 2, 0.0).exchange)
    assert model.on(Cluster(bandwidth=1e9, latency=1e-5)).knows_exchange
    found = validate(step_times(workers=(1,)), model)
    assert found.held_out


def test_too_little_is_refused() -> None:
    with pytest.raises(UsageError, match="two slice sizes"):
        fit_cost_model(step_times(sizes=(8,)))
