"""Plans of studies and step times whose truth is known: every number by a slow twin, and intervals that cover."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from known_truth import TRUTH, lognormal, step_times
from made_up import GOAL, curve_cells
from made_up import lognormal as luck_of

from parsity.analysis import MeasuredStudy
from parsity.errors import UsageError
from parsity.planning import (
    Cluster,
    Uncertainty,
    Wish,
    best_of_all,
    choices,
    default_workers,
    fit_cost_model,
    make_plan,
    time_lines,
)

BATCHES = tuple(2**power for power in range(1, 12))
CURVES = {0.0: (60_000.0, 140.0), 0.9: (150_000.0, 400.0)}
CLUSTER = Cluster(bandwidth=1.25e9, latency=2e-5, device_speed=50.0)


def study(*, trials: int = 20, seed: int = 1, spread: float = 0.3, **known) -> MeasuredStudy:
    chance, cells = np.random.default_rng(seed), []
    luck = luck_of(chance, trials, len(BATCHES), spread=spread)
    for sparsity, (c1, c2) in CURVES.items():
        cells += curve_cells(
            lambda batch, c1=c1, c2=c2: c1 / batch + c2, luck, sparsity=sparsity, batch_sizes=BATCHES, **known
        )
    return MeasuredStudy(name="made up", cells=tuple(cells), data="mnist", network="simple-cnn")


def test_every_point_is_the_least_over_batch_sizes() -> None:
    """A slow twin: all batch sizes, one by one."""
    measured, times = study(), step_times()
    plan = make_plan(measured, GOAL, times, Wish(cluster=CLUSTER, workers=(1, 3, 16, 64)))
    steps = {(c.batch_size, c.sparsity): c.steps_to_result(GOAL) for c in measured.cells}
    for line in plan.lines:
        assert [point.workers for point in line.points] == [1, 3, 16, 64]
        for point in line.points:
            truth = fit_cost_model(times).on(CLUSTER)
            found = {
                batch: steps[batch, line.sparsity]
                * truth.step(math.ceil(batch / point.workers), point.workers, line.sparsity).seconds
                for batch in BATCHES
                if batch >= point.workers
            }
            assert point.batch_size == min(found, key=lambda batch: found[batch])
            assert point.seconds.value == pytest.approx(min(found.values()))
            assert point.worker_seconds.value == pytest.approx(point.workers * min(found.values()))
            assert point.seconds.low < point.seconds.value < point.seconds.high


def test_choices_are_the_best_and_keep_their_limits() -> None:
    plan = make_plan(study(), GOAL, step_times(), Wish(cluster=CLUSTER, deadline=1.0, budget=20.0))
    for line in plan.lines:
        by_aim = {one.aim: one for one in plan.choices if one.sparsity == line.sparsity}
        seconds = {point.workers: point.seconds.value for point in line.points}
        cost = {workers: workers * found for workers, found in seconds.items()}
        assert by_aim["fastest"].point.workers == min(seconds, key=lambda w: (seconds[w], w))
        assert by_aim["cheapest"].point.workers == min(cost, key=lambda w: (cost[w], w))
        for aim, of, limit, target in (("deadline", seconds, 1.0, cost), ("budget", cost, 20.0, seconds)):
            able = {w: target[w] for w in of if of[w] <= limit}
            chosen = by_aim[aim]
            assert chosen.limit == limit
            if able:
                assert chosen.point.workers == min(able, key=lambda w: (able[w], w))
                assert chosen.fewest <= chosen.point.workers <= chosen.most
                assert 0 <= chosen.likely <= 1
            else:
                assert chosen.point is None
    assert best_of_all(plan.choices, "cheapest").sparsity in CURVES


def test_what_cannot_be_met_is_said() -> None:
    plan = make_plan(study(), GOAL, step_times(), Wish(deadline=1e-6))
    found = [one for one in plan.choices if one.aim == "deadline"]
    assert [one.point for one in found] == [None, None]
    assert best_of_all(plan.choices, "deadline") is None


def test_intervals_cover_the_truth() -> None:
    """Other studies of the same truth, other step times: the interval of T holds the typical T, nine times in ten."""
    truth, hits, total = TRUTH.on(CLUSTER), 0, 0
    trials, spread = 20, 0.3
    # The typical best of n lognormal trials: the quantile at 1 - 2^(-1/n).
    from scipy.stats import norm

    best = math.exp(spread * norm.ppf(-math.expm1(-math.log(2) / trials)))
    for seed in range(8):
        times = step_times(noise=lognormal(seed, 0.03), sizes=(8, 32, 256), workers=(1, 4, 8))
        plan = make_plan(
            study(seed=seed, trials=trials, spread=spread), GOAL, times, Wish(cluster=CLUSTER, workers=(16,))
        )
        for line in plan.lines:
            point = line.points[0]
            c1, c2 = CURVES[line.sparsity]
            expected = (c1 / point.batch_size + c2) * best * truth.step(point.slice_size, 16, line.sparsity).seconds
            hits += point.seconds.covers(expected)
            total += 1
    assert hits >= 0.85 * total


def test_model_errors_widen_intervals() -> None:
    model = fit_cost_model(step_times())
    sure, unsure = (
        time_lines(study(), GOAL, model, (4,), Uncertainty(compute=error, exchange=error))[0].points[0].seconds
        for error in (0.0, 0.3)
    )
    assert unsure.value == sure.value
    assert unsure.high / unsure.low > 1.2 * sure.high / sure.low


def test_what_trials_leave_open_stays_open() -> None:
    plan = make_plan(study(patience=1.0), GOAL, step_times())
    for line in plan.lines:
        for point in line.points:
            assert point.seconds.high is None
            assert "trials complete" in point.seconds.open_because


def test_workers_by_default() -> None:
    model = fit_cost_model(step_times())
    assert default_workers(study(), GOAL, model) == (1, 2, 4, 8)
    assert default_workers(study(), GOAL, replace(model, cores=6)) == (1, 2, 4, 6)
    assert default_workers(study(), GOAL, model.on(CLUSTER))[-1] == 2048


def test_step_times_of_something_else_are_refused() -> None:
    times = step_times()
    with pytest.raises(UsageError, match="they are of network resnet-8"):
        make_plan(study(), GOAL, replace(times, workload={**times.workload, "network": "resnet-8"}))
    with pytest.raises(UsageError, match="one worker alone was measured"):
        make_plan(study(), GOAL, step_times(workers=(1,)), Wish(workers=(1, 2)))
    alone = make_plan(study(), GOAL, step_times(workers=(1,)))
    assert [point.workers for point in alone.lines[0].points] == [1]


def test_assumptions_are_told() -> None:
    said = " ".join(make_plan(study(), GOAL, step_times(), Wish(cluster=CLUSTER)).assumed)
    assert "50 times as fast" in said
    assert "20 us a message" in said
    assert "10 Gbit/s" in said
    said = " ".join(make_plan(study(), GOAL, step_times()).assumed)
    assert "share the machine that was measured: 8 cores" in said


def test_the_best_of_no_draws() -> None:
    assert choices(()) == ()


def test_an_exchange_that_was_only_described_is_said_to_be() -> None:
    plan = make_plan(study(), GOAL, step_times(workers=(1,)), Wish(cluster=CLUSTER, workers=(1, 4)))
    assert "No exchange was measured" in plan.assumed[-1]
    assert "No exchange was measured" not in " ".join(make_plan(study(), GOAL, step_times()).assumed)
