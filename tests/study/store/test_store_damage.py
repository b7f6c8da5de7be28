"""Flipped bits and cut files: the store says so, or the bits meant nothing; never another number."""

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from make_believe import finish, make_store, measured

from parsity.errors import DamagedError, ParsityError
from parsity.study import Store, verify


def everything(store: Store) -> tuple[Any, ...]:
    reading = (store.spec, store.identity, store.digest(), store.table(), store.state(), store.cells(), store.trials())
    return (*reading, store.set_asides(), store.runs())


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[bytes, tuple[Any, ...]]:
    """A finished study with something in every table, and all that can be read of it."""
    path = tmp_path_factory.mktemp("whole") / "study.sqlite"
    with make_store(path) as store:
        run = store.begin_run({"cpu": "of this test"})
        finish(store, run)
        store.set_aside(2, 0.0, [7], "killed", 3)
        store.grow({**store.spec, "trials": 7})
        store.end_run(run, "finished")
        found = everything(store)
    return path.read_bytes(), found


def judged(path: Path, data: bytes, expected: tuple[Any, ...]) -> tuple[bool, bool]:
    """Whether `verify` finds something, and whether reading refuses; what reading gives must be right."""
    path.write_bytes(data)
    try:
        found = bool(verify(path))
    except ParsityError as error:
        assert "newer Parsity" in str(error)
        found = True
    try:
        with Store.open(path) as store:
            assert everything(store) == expected, "silently different"
    except ParsityError as error:
        assert len(str(error).splitlines()) == 1
        assert str(path) in str(error)
        return found, True
    return found, False


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize(("count", "seed"), [(1000, 1), pytest.param(50_000, 2, marks=pytest.mark.soak)])
def test_a_flipped_bit_is_found_or_meant_nothing(tmp_path, whole, count, seed):
    data, expected = whole
    rng = random.Random(seed)
    refused = 0
    for bit in (rng.randrange(len(data) * 8) for _ in range(count)):
        found, refusing = judged(tmp_path / "s", flipped(data, bit), expected)
        assert found or not refusing, f"bit {bit}: reading refuses what verify lets pass"
        refused += refusing
    assert refused > count / 10


def test_every_flip_in_what_was_measured_is_found(tmp_path, whole):
    """The bits of results themselves, found by what they say."""
    data, expected = whole
    path = tmp_path / "s"
    for text in (
        b'"complete",48,32',
        b'"infeasible"',
        b'"learning_rate":0.',
        b'"batch_sizes":[2,8]',
        b'"patience":1.5',
    ):
        start = data.rindex(text)
        for bit in range(start * 8, (start + len(text)) * 8):
            assert judged(path, flipped(data, bit), expected) == (True, True)


def test_a_cut_file_is_found(tmp_path, whole):
    data, expected = whole
    for part in range(64):
        assert judged(tmp_path / "s", data[: len(data) * part // 64], expected) == (True, True)


def test_a_burst_of_nonsense_is_found_or_hit_nothing(tmp_path, whole):
    data, expected = whole
    rng = random.Random(3)
    for _ in range(100):
        start, size = rng.randrange(len(data)), rng.choice([2, 16, 512, 4096])
        found, refusing = judged(
            tmp_path / "s", (data[:start] + rng.randbytes(size) + data[start + size :])[: len(data)], expected
        )
        assert found or not refusing


@pytest.mark.parametrize(
    ("statement", "where", "what"),
    [
        (
            "UPDATE trial SET seconds = seconds + 1 WHERE number = 2",
            "trials",
            "trial 2 of batch size 2, sparsity 0.0",
        ),
        ("UPDATE trial SET number = 70 WHERE number = 2", "trials", "does not match its digest"),
        ("DELETE FROM trial WHERE number = 2", "trials", "these are not all of them"),
        ("DELETE FROM cell WHERE id = 2", "strays", "6 results belong to no cell"),
        (
            "DELETE FROM log WHERE cell = 2; DELETE FROM trial WHERE cell = 2; DELETE FROM cell WHERE id = 2",
            "cells",
            "of 4 cells, 3 are found",
        ),
        ("UPDATE cell SET trials = 5 WHERE id = 2", "cells", "cell 2 does not match its digest"),
        ("DELETE FROM spec WHERE revision = 2", "specs", "of 2 specs, 1 are found"),
        ("UPDATE spec SET identity = 'e'", "specs", "spec 1 does not match its digest"),
        ("DELETE FROM head", "specs", "the head of the file is missing"),
        ("DELETE FROM run", "trials", "the run that measured it, 1, is missing"),
        ("UPDATE run SET provenance = '{}'", "runs", "run 1 does not match its digest"),
        ("UPDATE run_end SET how = 'x'", "runs", "the end of run 1 does not match"),
        ("UPDATE log SET entries = '[]' WHERE number = 3", "trials", "the log of trial 3"),
        ("DELETE FROM log WHERE number = 3 AND cell = 1", "trials", "the log of trial 3 of batch size 2, sparsity 0.0"),
        ("INSERT INTO log VALUES (1, 1, 1, '[]')", "strays", "1 logs belong to no result"),
        ("DELETE FROM run_end", "runs", "of 1 run ends, 0 are found"),
        ("DELETE FROM set_aside", "set-asides", "of 1 set asides, 0 are found"),
        ("UPDATE set_aside SET attempts = 4", "set-asides", "the note on trial 7"),
        ("ALTER TABLE trial ADD COLUMN mood TEXT", "tables", "table 'table trial of trial' is not as it was made"),
        ("CREATE TABLE pets (name TEXT) STRICT", "tables", "a table 'table pets of pets' that no study has"),
        ("DELETE FROM set_aside; DELETE FROM cell; UPDATE head SET cells = 0", "references", "a row of 'trial'"),
    ],
)
def test_each_fault_is_named(tmp_path, whole, statement, where, what):
    (tmp_path / "s").write_bytes(whole[0])
    raw = sqlite3.connect(tmp_path / "s")
    raw.executescript(statement)
    raw.close()
    found = verify(tmp_path / "s")
    assert any(one.where == where and what in one.what for one in found), found


def test_a_damaged_result_is_never_averaged_in(tmp_path, whole):
    data, _ = whole
    (tmp_path / "s").write_bytes(flipped(data, data.rindex(b'"complete",48,32') * 8 + 8 * 12))
    with Store.open(tmp_path / "s", writable=True) as store:
        for look in (store.table, store.cells, store.trials, store.digest, store.state):
            with pytest.raises(DamagedError, match=r"trial \d of batch size \d, sparsity .* does not match its digest"):
                look()
        damaged = [one.what for one in store.verify()]
        assert len(damaged) == 1
        key = next(k for k in store.grid.cells if f"batch size {k[0]}, sparsity {k[1]}" in damaged[0])
        with pytest.raises(DamagedError):
            store.add(
                *key,
                [measured(*key, 7, 1.5, dict.fromkeys(store.grid.goals, 48.0))],
                run=1,
                patience=1.5,
                goals=store.grid.goals,
                engine="plain",
                test="certified",
            )
        whole_key = next(k for k in store.grid.cells if k != key)
        assert store.cell(*whole_key).trials
