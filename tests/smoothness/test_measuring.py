"""A measurement that is stopped, killed or extended gives the same numbers as one that never was."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from small_problems import data

from parsity.errors import BusyError, DamagedError, ParsityError, UsageError
from parsity.results import LipschitzPoint
from parsity.smoothness import STORE, SmoothnessSpec, SmoothnessStore, measure, read_smoothness
from parsity.storage import UnwritableError, canonical

HERE = Path(__file__).parent


def spec(**changes) -> SmoothnessSpec:
    choices = {
        "name": "small",
        "data": "small_problems:data",
        "network": "small_problems:network",
        "batch_size": 8,
        "sparsities": (0.0, 0.5),
        "steps": 12,
        "interval": 3,
        "delta": 0.5,
        "noise_interval": 6,
        "noise_images": 20,
        "curvature_interval": 6,
        "curvature_images": 20,
        "lanczos": 3,
        "probes": 2,
    }
    return SmoothnessSpec(**(choices | changes))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """Measured in one go."""
    folder = tmp_path_factory.mktemp("whole")
    assert measure(folder, spec()).how == "finished"
    return folder


def digest(folder: Path) -> str:
    with SmoothnessStore.open(folder / STORE) as store:
        assert store.verify() == []
        return store.digest()


def test_everything_that_is_due_is_measured(whole):
    found = read_smoothness(whole)
    assert found.sparsities == (0.0, 0.5)
    for curve in found.curves:
        assert [point.step for point in curve.points] == [0, 3, 6, 9]
        assert [point.step for point in curve.noise] == [point.step for point in curve.curvature] == [0, 6]
        assert [list(point.ratios) for point in curve.points] == [[0.5, 1.0]] * 4
        assert curve.start.exact
        assert not curve.noise[1].exact
        assert found.delta(curve.start) == found.delta(curve.points[0]) == 2 * curve.start.loss
    dense, sparse = found.curves
    assert dense.points[0].training_loss != sparse.points[0].training_loss


def test_a_point_is_what_training_by_hand_gives(whole):
    """The same descent, gone by a study's own trial: weights, order, mask."""
    from parsity.engines import make_engine
    from parsity.racing import Cell
    from parsity.smoothness import Place, lipschitz_point

    s = spec()
    cell = Cell(workload=s.workload, batch_size=8, sparsity=0.5, dataset=data())
    trial = cell.begin(1)
    before, after = [], []
    from parsity.data import Batches
    from parsity.optimisation import make_rule
    from parsity.training import derived_seed

    batches = Batches(len(cell.split.train), 8, derived_seed(0, "order", 1))
    rule = make_rule("sgd", "constant", s.metaparameters)
    for step in range(4):
        before.append(trial.replica.snapshot())
        trial.replica.advance([cell.split.train[batches.indices(step)]], rule, step)
        after.append(trial.replica.snapshot())
    replica = make_engine("plain", s.workload.make_network(0), data()).replica(before[3], mask=trial.mask)
    place = Place(replica=replica, snapshot=before[3], step=3, images=cell.split.train)
    expected = lipschitz_point(place, after[3], gammas=(0.5, 1.0), validation=cell.split.validation)
    found = read_smoothness(whole).curve(0.5).points[1]
    assert found.ratios == pytest.approx(expected.ratios, rel=1e-3)
    assert found.training_loss == pytest.approx(expected.training_loss, rel=1e-4)
    assert (found.training_error, found.validation_error) == (expected.training_error, expected.validation_error)


def test_growing_in_steps_sparsities_and_density_is_as_if_asked_at_once(whole, tmp_path):
    measure(tmp_path, spec(steps=4, sparsities=(0.5,), interval=6, noise_interval=0, curvature_interval=0))
    measure(tmp_path, spec(sparsities=(0.5,), interval=6))
    measure(tmp_path, spec())
    assert digest(tmp_path) == digest(whole)
    assert asdict(read_smoothness(tmp_path)) == asdict(read_smoothness(whole))


def test_what_would_change_points_is_refused(whole):
    with pytest.raises(UsageError, match=r"batch_size is 8, not 16; .*another folder"):
        measure(whole, spec(batch_size=16))
    with pytest.raises(UsageError, match=r"delta is 0.5, not 1"):
        measure(whole, spec(delta=1.0))


def run_in_a_process(folder: Path, *, kill_after: int) -> int:
    """Measure in a process that kills itself in the middle of its n-th look around."""
    code = f"""
import os, signal, sys
sys.path[:0] = [{str(HERE)!r}]
import torch
torch.set_num_threads(1)
from pathlib import Path
from test_measuring import spec
from parsity.smoothness import measure
calls = 0
def watch(progress):
    global calls
    calls += 1
    if calls == {kill_after}:
        os.kill(os.getpid(), signal.SIGKILL)
measure(Path({str(folder)!r}), spec(), watch=watch)
"""
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


@pytest.mark.soak
def test_killed_at_any_moment_and_gone_on_with_it_is_the_same(whole, tmp_path):
    kills, step = 0, 7
    while run_in_a_process(tmp_path, kill_after=step + kills % 5) == -signal.SIGKILL:
        kills += 1
        assert kills < 200
    assert kills > 3
    assert digest(tmp_path) == digest(whole)


def test_killed_once(whole, tmp_path):
    assert run_in_a_process(tmp_path, kill_after=60) == -signal.SIGKILL
    with SmoothnessStore.open(tmp_path / STORE) as store:
        done = len(store.measured())
    assert 0 < done < 16
    measure(tmp_path, spec())
    assert digest(tmp_path) == digest(whole)


def test_a_signal_ends_it_between_parts_and_it_goes_on(whole, tmp_path):
    calls = 0

    def watch(progress):
        nonlocal calls
        calls += 1
        if calls == 40:
            os.kill(os.getpid(), signal.SIGTERM)

    ended = measure(tmp_path, spec(), watch=watch)
    assert (ended.how, ended.exit_code) == ("interrupted", 143)
    assert measure(tmp_path, spec()).exit_code == 0
    assert digest(tmp_path) == digest(whole)


def test_one_at_a_time(tmp_path):
    def watch(progress):
        with pytest.raises(BusyError, match=f"process {os.getpid()}"):
            measure(tmp_path, spec())

    measure(tmp_path, spec(steps=1, sparsities=(0.0,)), watch=watch)


def test_progress_counts_down(tmp_path):
    seen = []

    def watch(progress):
        seen.append((progress.done, progress.total, progress.seconds_left))

    measure(tmp_path, spec(), watch=watch)
    assert seen[0] == (0, 16, None)
    assert seen[-1][:2] == (16, 16)
    assert seen[-1][2] == 0
    again = []
    measure(tmp_path, spec(), watch=again.append)
    assert again == []


def test_training_that_diverges_is_data(tmp_path):
    wild = spec(metaparameters={"learning_rate": 1e30}, sparsities=(0.0,), steps=40, noise_interval=0)
    assert measure(tmp_path, wild).how == "finished"
    (curve,) = read_smoothness(tmp_path).curves
    assert curve.infeasible is not None
    assert all(point.step < curve.infeasible for point in curve.points)
    digests = digest(tmp_path)
    measure(tmp_path, wild)
    assert digest(tmp_path) == digests


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE record SET value = replace(value, '0', '1') WHERE kind = 'lipschitz' AND step = 3 AND sparsity = 0.5",
        "DELETE FROM record WHERE number = 7",
        "DELETE FROM record WHERE number = (SELECT max(number) FROM record)",
        "UPDATE record SET step = 99 WHERE kind = 'noise' AND step = 6 AND sparsity = 0",
        "UPDATE head SET records = records - 1",
        "DROP TABLE head",
        "CREATE TABLE more (id)",
    ],
)
def test_damage_is_seen(whole, tmp_path, change):
    copy = tmp_path / STORE
    copy.write_bytes((whole / STORE).read_bytes())
    with sqlite3.connect(copy) as connection:
        assert connection.execute(change).rowcount != 0
    connection.close()
    with pytest.raises(DamagedError, match=r"damaged"):
        read_smoothness(tmp_path)


def test_a_point_is_stored_once(tmp_path):
    point = LipschitzPoint(
        step=0, ratios={1.0: 2.0}, distance=1.0, gradient_norm=1.0, training_loss=1.0, training_error=0.5
    )
    with SmoothnessStore.create(tmp_path / STORE, spec()) as store:
        run = store.begin_run({"command": ["here"]})
        store.add(0.0, point, run=run, seconds=1.5)
        with pytest.raises(ParsityError, match="already stored"):
            store.add(0.0, point, run=run, seconds=1.5)
        assert store.measured() == {(0.0, 0, "lipschitz"): 1.5}
        assert store.smoothness().curve(0.0).points == (point,)
        assert store.runs() == ({"command": ["here"]},)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
    with SmoothnessStore.open(tmp_path / STORE) as store, pytest.raises(UnwritableError):
        store.begin_run({})


def test_the_spec_as_plain_data_is_the_spec():
    one = spec(metaparameters={"learning_rate": 0.25})
    assert SmoothnessSpec.from_document(json.loads(canonical(one.document()))) == one
    assert one.gammas == (0.5, 1.0)
    assert spec(delta=0.1).gammas == pytest.approx([g / 10 for g in range(1, 11)])
    assert one.identity == one.with_(steps=99, sparsities=(0.9,), interval=7).identity
    assert one.identity != one.with_(images=3).identity


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.3}, "delta 0.3: 1 divided by a whole number"),
        ({"sparsities": (1.0,)}, "sparsity 1: at least 0 and below 1"),
        ({"steps": 0, "interval": 0}, "steps 0: at least 1; interval 0: at least 1"),
        ({"metaparameters": {"momentum": 0.9}}, "momentum: not a metaparameter of sgd with constant"),
        ({"images": 0}, "images 0: at least 1"),
        ({"probes": 1}, "at least 2"),
    ],
)
def test_mistakes_are_named(changes, message):
    with pytest.raises(UsageError, match=message):
        spec(**changes)


def test_threads_are_the_callers_again(tmp_path):
    before = torch.get_num_threads()
    measure(tmp_path, spec(steps=1, noise_images=0, curvature_images=0), threads=2)
    assert torch.get_num_threads() == before
