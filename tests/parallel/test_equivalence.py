"""Ranks that share every batch train as one process does: real processes, real gloo, on the loopback device."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rank_jobs import OPTIMISERS, All, Case, Follow, Path200, SumBothWays, alone, steady

from parsity import race, workload
from parsity.parallel import TrainingJob, launch, slice_of, train
from parsity.results import Complete, Infeasible

STEADY = [Case(steady("digits-cnn", optimiser), 30, sparsity) for optimiser in OPTIMISERS for sparsity in (0.0, 0.9)]
SHORT = steady("digits-cnn", "momentum").with_(check_interval=20, step_limit=40)
FEW = Case(SHORT, 2, 0.9)  # fewer images than ranks
UNPACKED = Case(SHORT, 30, 0.9, packed=False)
WILD = Case(steady("digits-cnn", "sgd", rate=1e30), 30)
RACE = {"workload": workload("digits"), "batch_size": 64, "sparsity": 0.9, "numbers": (1, 2)}


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    largest = float(expected.abs().nan_to_num(0.0, 0.0, 0.0).max())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * max(1.0, largest), equal_nan=True)


def drift(found: Path200, expected: Path200) -> float:
    """The largest difference of two weights at any check, in units of the largest weight where that is above 1."""
    pairs = zip(found.weights, expected.weights, strict=True)
    return max(float((ours - theirs).abs().max()) / max(1.0, float(theirs.abs().max())) for ours, theirs in pairs)


def as_one_process_does(path: Path200, case: Case, workers: int) -> None:
    """Within 1e-5 of one process, or within what one process differs from itself by.

    Rectifiers and maxima have kinks: a last bit can turn one over, and then a gradient differs by far more than a bit.
    So where ranks are further off, one process is asked in another order of summing too: by slices, and with another
    engine.
    """
    expected = alone(case)
    off = drift(path, expected)
    if off > 1e-5:
        others = (alone(case, slices=workers), alone(case, engine="traced"))
        itself = max(drift(other, expected) for other in others)
        print(f"{case}: {off:.1e} of one process, which is {itself:.1e} of itself")  # noqa: T201
        assert off <= 5 * itself


@given(count=st.integers(0, 300), size=st.integers(1, 20))
def test_slices_cover_a_batch_once_and_differ_by_one_at_most(count, size):
    slices = [slice_of(count, rank, size) for rank in range(size)]
    assert [index for one in slices for index in range(count)[one]] == list(range(count))
    sizes = [one.stop - one.start for one in slices]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.xdist_group("ranks")
@pytest.mark.parametrize("workers", [2, 3, pytest.param(4, marks=pytest.mark.soak)])
def test_ranks_train_as_one_process_does(workers):
    """Weights at every 50th of 200 steps, outcomes, the race, packed against dense, and what is sent."""
    steady_ones = {2: [STEADY[1], STEADY[2], STEADY[5]], 3: STEADY[-1:], 4: STEADY}[workers]
    cases = [*steady_ones, FEW, WILD, UNPACKED]
    jobs = All([Follow(cases), SumBothWays(batch_size=31), TrainingJob(**RACE)])
    paths, (packed, dense, mask), raced = launch(jobs, workers=workers)
    sent = {}
    for case, (path, same, bytes_per_step) in zip(cases, paths, strict=True):
        expected = alone(replace(case, packed=True))
        assert same, "ranks part"
        assert path.outcomes == expected.outcomes
        assert path.looked == expected.looked
        if case in STEADY:
            as_one_process_does(path, case, workers)
        else:
            for found, weights in zip(path.weights, expected.weights, strict=True):
                close(found, weights)
        sent[case.sparsity, case.packed, case.batch_size] = bytes_per_step
    assert paths[-2][0].outcomes == {0.0: Infeasible(alone(WILD).outcomes[0.0].step)}
    assert len(paths[0][0].weights) == 4
    # Four bytes for each of the surviving entries, and for the loss.
    assert sent[0.9, False, 30] == 4 * (18_346 + 1)
    assert sent[0.9, True, 30] == 4 * (round(0.1 * 18_346) + 1) <= 0.11 * sent[0.9, False, 30]
    assert torch.equal(packed == 0, dense == 0)
    assert not packed[~mask].any()
    if workers == 2:  # a sum of two has one order
        assert torch.equal(packed, dense)
    torch.testing.assert_close(packed, dense, rtol=1e-6, atol=1e-8)

    expected = race("digits", 64, 0.9, trials=2)
    assert isinstance(raced.cell.winner().trial.outcomes[0.04], Complete)
    assert raced.cell.steps_to_result() == expected.steps_to_result()
    assert raced.cell.winner().number == expected.winner().number
    assert [t.outcomes for t in raced.cell.trials] == [t.outcomes for t in expected.trials]
    assert [t.test_errors for t in raced.cell.trials] == [t.test_errors for t in expected.trials]
    assert (raced.workers, raced.backend, raced.kept) == (workers, "gloo", round(0.1 * 18_346))
    assert raced.gradient_bytes == raced.bytes_per_step * raced.steps
    assert raced.compute > 0
    assert raced.exchange > 0


def test_a_worker_alone_is_the_ordinary_trial():
    result = train("digits", 64, 0.9, trials=(2, 3), workers=1)
    expected = {trial.number: trial for trial in race("digits", 64, 0.9, trials=3, patience=10).trials}
    for trial in result.cell.trials:
        ours, theirs = trial.outcomes[0.04], expected[trial.number].outcomes[0.04]
        assert ours == theirs or ours.status == "outpaced"
    assert any(isinstance(trial.outcomes[0.04], Complete) for trial in result.cell.trials)
    assert (result.bytes_per_step, result.test_bytes, result.exchange, result.backend) == (0, 0, 0.0, "none")
    assert result.compute > 0


@pytest.mark.soak
@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("network", ["simple-cnn", "resnet-8"])
def test_both_networks_and_all_optimisers(network, optimiser, workers):
    """Of two summands there is one order only: two ranks are, bit for bit, one process that adds two slices."""
    cases = [Case(steady(network, optimiser, rate=0.002), 30, sparsity) for sparsity in (0.0, 0.9)]
    for case, (path, same, _) in zip(cases, launch(Follow(cases), workers=workers), strict=True):
        assert same
        assert path.outcomes == alone(case).outcomes
        if workers == 2:
            assert all(map(torch.equal, path.weights, alone(case, slices=2).weights))
        as_one_process_does(path, case, workers)
