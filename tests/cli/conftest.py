"""Small studies on disk, made without training anything."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from parsity.cli import main
from parsity.results import Complete, Incomplete, Infeasible, Outcome, Outpaced, TrialResult
from parsity.study import STORE, Store, StudySpec

Outcomes = Mapping[float, Outcome]


def trial(number: int, outcomes: Outcomes, test_errors: Mapping[float, float] | None = None) -> TrialResult:
    """Trial ``number``, which ended so."""
    steps = max(outcome.step for outcome in outcomes.values())
    return TrialResult(
        number=number,
        metaparameters={"learning_rate": 10.0**-number, "momentum": 0.9 + number / 100},
        outcomes=outcomes,
        steps=steps,
        images_looked_at=1000,
        seconds=0.5,
        test_errors=test_errors or {},
    )


@pytest.fixture
def make() -> Callable[..., Path]:
    """`make_study`, for tests of their own studies."""
    return make_study


def make_study(
    folder: Path, cells: Mapping[tuple[int, float], Mapping[int, Outcomes]], *, ended: bool = True, **spec: Any
) -> Path:
    """A study of these outcomes, by cell and trial number, measured by one run."""
    document = StudySpec(**{"workload": "digits", "goals": [0.04], "trials": 3, "patience": 2, **spec}).document()
    folder.mkdir(parents=True)
    with Store.create(folder / STORE, spec=document, identity=StudySpec(**document).identity) as store:
        run = store.begin_run({"started": "2026-01-02T03:04:05+00:00", "command": ["parsity", "run"]})
        for (batch_size, sparsity), trials in cells.items():
            store.add(
                *(batch_size, sparsity, [trial(number, outcomes) for number, outcomes in trials.items()]),
                run=run,
                patience=float(document["patience"]),
                goals=document["goals"],
                engine="plain",
                test="certified",
            )
        if ended:
            store.end_run(run, "finished")
    return folder


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """Two batch sizes, dense and sparse; nobody reached the goal in the last cell."""
    return make_study(
        tmp_path / "finished",
        {
            (2, 0.0): {1: {0.04: Complete(1200, 1184)}, 2: {0.04: Complete(592, 576)}, 3: {0.04: Outpaced(1184)}},
            (2, 0.9): {1: {0.04: Complete(1480, 1464)}, 2: {0.04: Infeasible(7)}, 3: {0.04: Complete(1480, 1464)}},
            (64, 0.0): {1: {0.04: Outpaced(96)}, 2: {0.04: Outpaced(96)}, 3: {0.04: Complete(48, 40)}},
            (64, 0.9): {number: {0.04: Infeasible(number)} for number in (1, 2, 3)},
        },
        batch_sizes=[2, 64],
        sparsities=[0, 0.9],
    )


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """Two goals; of its cells, one is whole, two are begun, one has a trial set aside, two are untouched."""
    folder = make_study(
        tmp_path / "unfinished",
        {
            (8, 0.0): {n: {0.04: Complete(64 * n, 64 * n - 8), 0.1: Complete(16, 8)} for n in (1, 2)},
            (8, 0.9): {1: {0.04: Complete(1024, 1016), 0.1: Complete(64, 56)}},
            (32, 0.0): {2: {0.04: Incomplete(1600), 0.1: Incomplete(1600)}},
            (32, 0.9): {1: {0.04: Complete(800, 792), 0.1: Complete(32, 24)}},
        },
        ended=False,
        goals=[0.04, 0.1],
        trials=2,
        patience="inf",
        batch_sizes=[8, 32, 128],
        sparsities=[0, 0.9],
    )
    with Store.open(folder / STORE, writable=True) as store:
        store.set_aside(32, 0.9, [2], "killed by signal 9", 4)
    return folder


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    """Four cells of two trials, none of them measured."""
    return make_study(tmp_path / "growing", {}, trials=2, batch_sizes=[8, 32], sparsities=[0, 0.9])


@pytest.fixture
def grow() -> Callable[..., None]:
    """Let the results of more cells of `growing` arrive; the first of the two trials wins each."""

    def add(folder: Path, *keys: tuple[int, float]) -> None:
        with Store.open(folder / STORE, writable=True) as store:
            run = store.begin_run({})
            for batch_size, sparsity in keys:
                steps = 8 * batch_size + round(10 * sparsity)
                results = [trial(number, {0.04: Complete(steps + number, steps)}) for number in (1, 2)]
                known = {"run": run, "patience": 2, "goals": [0.04], "engine": "plain", "test": "certified"}
                store.add(batch_size, sparsity, results, **known)
            store.end_run(run, "interrupted")

    return add


@pytest.fixture
def damaged(finished: Path) -> Path:
    """The finished study with one digit of a result changed."""
    connection = sqlite3.connect(finished / STORE)
    connection.execute("UPDATE trial SET steps = steps + 1 WHERE number = 2 AND cell = 1")
    connection.commit()
    connection.close()
    return finished


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a verb that is to end well, and give what it printed."""

    def run(*words: object, code: int = 0) -> str:
        assert main([str(word) for word in words]) == code
        return capsys.readouterr().out

    return run


@pytest.fixture
def say_json(say: Callable[..., str]) -> Callable[..., Any]:
    """The same in JSON, read as strictly as JSON is meant."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    def run(*words: object, code: int = 0) -> Any:
        return json.loads(say(*words, "--json", code=code), parse_constant=refuse)

    return run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[int], None]:
    """Standard output becomes a terminal of so many columns."""

    def become(columns: int) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)

    return become
