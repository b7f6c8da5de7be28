"""A file of an older version becomes one of this, whole or not at all, with the same results."""

import hashlib
import json
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest
from make_believe import add, best_steps, make_store, measured, spec_of

from parsity.errors import DamagedError
from parsity.results import Complete, TrialResult
from parsity.study import Store, verify

VERSION_0 = """
CREATE TABLE study (identity TEXT NOT NULL, spec TEXT NOT NULL, stored TEXT NOT NULL, digest TEXT NOT NULL) STRICT;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, ended TEXT, how TEXT, provenance TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
CREATE TABLE results (
    batch_size INTEGER NOT NULL, sparsity REAL NOT NULL, number INTEGER NOT NULL, run INTEGER NOT NULL,
    patience REAL NOT NULL, engine TEXT NOT NULL, test TEXT NOT NULL, mask TEXT, result TEXT NOT NULL,
    digest TEXT NOT NULL, PRIMARY KEY (batch_size, sparsity, number)
) STRICT;
PRAGMA application_id=1349677945;
PRAGMA user_version=0;
"""


def signed(table: str, *columns: object) -> tuple[object, ...]:
    return (*columns, hashlib.sha256("\n".join([table, *map(str, columns)]).encode()).hexdigest())


def as_json(result: TrialResult) -> str:
    plain = {
        "number": result.number,
        "metaparameters": dict(result.metaparameters),
        "outcomes": [
            [goal, one.status, one.step, one.last_miss if isinstance(one, Complete) else None]
            for goal, one in result.outcomes.items()
        ],
        "steps": result.steps,
        "images_looked_at": result.images_looked_at,
        "seconds": result.seconds,
        "test_errors": list(result.test_errors.items()),
        "log": result.log,
    }
    return json.dumps(plain)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[Path, Path]:
    """The same study twice: as version 0 left it, and as made by this version."""
    folder = tmp_path_factory.mktemp("versions")
    old, new = folder / "old.sqlite", folder / "new.sqlite"
    spec = spec_of(batch_sizes=(2, 8, 32, 128), trials=20)
    raw = sqlite3.connect(old)
    raw.executescript(VERSION_0)
    raw.execute("INSERT INTO study VALUES (?, ?, ?, ?)", signed("study", "f" * 64, json.dumps(spec), "2021-05-04"))
    raw.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", signed("runs", 1, "2021-05-04", "2021-05-05", "ok", "{}"))
    raw.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", signed("runs", 2, "2021-05-06", None, None, '{"a": 1}'))
    with make_store(new, batch_sizes=(2, 8, 32, 128), trials=20) as store:
        store.end_run(store.begin_run({"started": "2021-05-04"}), "ok")
        store.begin_run({"a": 1})
        for key in store.grid.cells:
            best = best_steps(*key, range(1, 21), store.grid.goals)
            results = [measured(*key, number, 1.5, best) for number in range(1, 20)]
            results = [
                replace(one, step_seconds=None, timed_steps=0, bytes_per_step=0) for one in results
            ]  # nobody timed steps then
            add(store, *key, results, 2, 1.5)
            for one in results:
                mask = f"{one.number:064x}"
                row = signed("results", *key, one.number, 2, 1.5, "plain", "certified", mask, as_json(one))
                raw.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    raw.commit()
    raw.close()
    return old, new


HEAD_1 = """
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    specs INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    run_ends INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    set_asides INTEGER NOT NULL,
    digest TEXT NOT NULL
) STRICT;
"""


@pytest.fixture
def version_1(tmp_path, both) -> Path:
    """The same study as version 1 left it: a head of fewer counts, no engines of cells, no times of steps."""
    path = tmp_path / "version 1"
    path.write_bytes(both[1].read_bytes())
    raw = sqlite3.connect(path)
    counts = raw.execute("SELECT 1, specs, runs, run_ends, cells, set_asides FROM head").fetchone()
    raw.executescript("DROP TABLE head; DROP TABLE choice; DROP TABLE pace; PRAGMA user_version=1;" + HEAD_1)
    row = (*counts, signed("head", *counts[1:])[-1])
    raw.execute("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    raw.commit()
    raw.close()
    return path


def test_version_1_comes_along_and_its_engines_are_those_of_its_results(version_1, both):
    before = version_1.read_bytes()
    with Store.open(both[1]) as expected, Store.open(version_1) as store:
        assert store.digest() == expected.digest()
        assert store.trials() == expected.trials()
        assert {(one.engine, one.how) for one in store.engines().values()} == {("plain", "kept")}
        assert store.overview().engines == {}
    assert verify(version_1) == []
    assert version_1.read_bytes() == before
    with Store.open(version_1, writable=True) as store:
        for (batch_size, sparsity), choice in store.engines().items():
            store.choose(batch_size, sparsity, choice)
    with Store.open(both[1]) as expected, Store.open(version_1) as store:
        assert store.digest() == expected.digest()
        assert len(store.overview().engines) == len(store.grid.cells)
    assert verify(version_1) == []


def test_damage_in_version_1_is_not_signed_again(version_1):
    raw = sqlite3.connect(version_1)
    raw.execute("UPDATE head SET runs = runs - 1")
    raw.commit()
    raw.close()
    before = version_1.read_bytes()
    with pytest.raises(DamagedError, match="head of the file does not match its digest"):
        Store.open(version_1, writable=True)
    assert version_1.read_bytes() == before


def test_all_of_it_comes_along(tmp_path, both):
    old, new = both
    path = tmp_path / "s"
    path.write_bytes(old.read_bytes())
    with Store.open(new) as expected, Store.open(path, writable=True) as store:
        assert store.verify() == []
        assert store.digest() == expected.digest()
        assert store.trials() == expected.trials()
        assert store.spec == expected.spec
        assert {number: run["how"] for number, run in store.runs().items()} == {1: "ok", 2: None}
        assert store.due(2, 0.0) == [20]
        assert store.begin_run({}) == 3
    with Store.open(path) as store:
        assert len(store.runs()) == 3


def test_reading_changes_nothing(tmp_path, both):
    old, new = both
    path = tmp_path / "s"
    path.write_bytes(old.read_bytes())
    with Store.open(new) as expected, Store.open(path) as store:
        assert store.digest() == expected.digest()
    assert verify(path) == []
    assert path.read_bytes() == old.read_bytes()


def test_damage_is_not_signed_again(tmp_path, both):
    path = tmp_path / "s"
    path.write_bytes(both[0].read_bytes().replace(b'"images_looked_at": ', b'"images_looked_at":9', 1))
    before = path.read_bytes()
    for writable in (False, True):
        with pytest.raises(DamagedError, match="does not match its digest"):
            Store.open(path, writable=writable)
    assert verify(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kills", [15, pytest.param(500, marks=pytest.mark.soak)])
def test_a_kill_leaves_the_old_or_the_new(tmp_path, both, adder, rng, kills):
    old, new = both
    path = tmp_path / "s"
    with Store.open(new) as store:
        expected = store.digest()
    path.write_bytes(old.read_bytes())
    started = time.perf_counter()
    assert adder(what="migrate", path=path).digest == expected
    lasts = time.perf_counter() - started
    versions = []
    for moment in [0.0, *(rng.uniform(0, 1.2 * lasts) for _ in range(1, kills))]:
        path.write_bytes(old.read_bytes())
        ending = adder(what="migrate", path=path, kill_after=(0, moment))
        assert ending.code in (0, -signal.SIGKILL)
        assert verify(path) == []
        with Store.open(path) as store:
            assert store.digest() == expected
        raw = sqlite3.connect(path)
        versions += raw.execute("PRAGMA user_version").fetchone()
        raw.close()
    assert 0 in versions


@pytest.mark.parametrize("runs", [15, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("die", [False, True], ids=["full disk", "killed at a write"])
def test_a_migration_that_finds_no_room_leaves_the_old(tmp_path, both, adder, rng, runs, die):
    old, new = both
    path = tmp_path / "s"
    with Store.open(new) as store:
        expected = store.digest()
    for _ in range(runs):
        path.write_bytes(old.read_bytes())
        ending = adder(what="migrate", path=path, room=rng.randrange(2 * old.stat().st_size), die=die)
        assert ending.code in ((0, -signal.SIGXFSZ) if die else (0, 1))
        with Store.open(path) as store:
            assert store.digest() == expected
        assert adder(what="migrate", path=path).digest == expected
