"""kill -9 of drivers and workers, at random and at named points: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dying import POINTS

from parsity.study import Study, StudySpec

SPEC = {
    "workload": "digits",
    "batch_sizes": [16, 64],
    "sparsities": [0.0, 0.9],
    "trials": 3,
    "patience": 1.5,
    "goals": [0.3],
    "step_limit": 120,
    "check_interval": 8,
}
Order = Callable[..., int]


def make(folder: Path) -> Study:
    return Study.create(folder, StudySpec.from_document(SPEC))


@pytest.fixture(scope="module")
def order() -> Iterator[Order]:
    """Have a study run by a child of `dying.py`, and get its exit code."""
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("dying.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def give(**what: object) -> int:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(what) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline())

    yield give
    assert server.stdin
    server.stdin.close()
    assert server.wait(10) == 0
    assert server.stdout
    server.stdout.close()


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the study that nobody disturbed."""
    study = make(tmp_path_factory.mktemp("undisturbed") / "study")
    assert study.run(executor="serial").exit_code == 0
    return study.digest()


def stored(study: Study) -> Counter[tuple[int, float, int]]:
    return Counter((t.batch_size, t.sparsity, t.result.number) for t in study.trials())


@pytest.mark.parametrize("kills", [21, pytest.param(2000, marks=pytest.mark.soak)])
def test_drivers_killed_at_random_and_at_every_named_point(order, digest, tmp_path, kills):
    rng = random.Random(kills)
    points: Counter[str] = Counter()
    killed = studies = 0
    while killed < kills:
        study = make(tmp_path / str(studies))
        studies += 1
        seen: Counter[tuple[int, float, int]] = Counter()
        while True:
            point = min(POINTS, key=lambda name: (points[name], rng.random()))
            at = {"point": point, "count": rng.randint(1, 3), "who": "driver"}
            if rng.random() < 0.3:
                point, at = "at random", {"seconds": rng.random()}
            code = order(folder=str(study.folder), executor="serial", quiet=True, **at)
            assert code in {0, -signal.SIGKILL}
            now = stored(study)
            assert not seen - now, "an acknowledged result is lost"
            assert set(now.values()) <= {1}, "a result is there twice"
            seen = now
            killed += code != 0
            points[point] += 1
            if code == 0:
                break
        assert study.digest() == digest
        assert study.verify() == []
        assert not list(study.folder.glob("checkpoints/*"))
    assert min(points[name] for name in POINTS) > 0


@pytest.mark.parametrize("runs", [3, pytest.param(200, marks=pytest.mark.soak)])
def test_workers_killed_at_every_named_point(order, digest, tmp_path, runs):
    """Each is replaced, and its task is taken up again within the same run."""
    rng = random.Random(runs)
    points = ["before a file is synced", "at a check", "after a file took its place", "before a file takes its place"]
    for index in range(runs):
        study = make(tmp_path / str(index))
        at = {"point": points[index % len(points)], "count": rng.randint(3, 6), "who": "worker"}
        run = {"folder": str(study.folder), "executor": "local", "workers": 2, "quiet": True}
        # What kills every worker that comes there is given up after four tries: exit code 3, and the next run goes on.
        if (code := order(**run, **at)) != 0:
            assert code == 3
            assert order(**run) == 0
        assert study.digest() == digest
        assert study.verify() == []
        assert set(stored(study).values()) == {1}
