"""kill -9 of the writer, at any moment: what was acknowledged is there, once, and the end is as if nothing happened."""

import os
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import pytest
from make_believe import finish, finished_digest, make_store, spec_of

from parsity.errors import ParsityError
from parsity.study import Store, verify

TRIALS = 8


def stored(path: Path) -> list[tuple[int, float, int]]:
    raw = sqlite3.connect(path)
    try:
        return raw.execute(
            "SELECT batch_size, sparsity, number FROM trial JOIN cell ON cell.id = trial.cell"
        ).fetchall()
    finally:
        raw.close()


@pytest.mark.parametrize("kills", [50, pytest.param(2000, marks=pytest.mark.soak)])
def test_kills_lose_nothing_and_double_nothing(tmp_path, adder, rng, kills):
    expected = finished_digest(tmp_path, spec_of(trials=TRIALS))
    done = studies = 0
    while done < kills:
        path = tmp_path / f"{studies}.sqlite"
        studies += 1
        make_store(path, trials=TRIALS).close()
        acknowledged: list[tuple[int, float, int]] = []
        while True:
            # A transaction takes a few milliseconds: any moment of it, and of the one after.
            ending = adder(
                what="add", path=path, seed=rng.random(), kill_after=(rng.randint(0, 9), rng.random() * 0.02)
            )
            acknowledged += ending.added
            assert ending.code in (0, -signal.SIGKILL)
            done += ending.code != 0
            if rng.random() < 0.5:
                assert verify(path) == []
            found = stored(path)
            assert len(set(found)) == len(found), "doubled"
            assert not set(acknowledged) - set(found), "lost"
            if ending.code == 0:
                break
        with Store.open(path) as store:
            assert store.digest() == expected
            assert store.verify() == []
            assert all(cell.finished for cell in store.state())


@pytest.mark.parametrize("runs", [25, pytest.param(3000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("die", [False, True], ids=["full disk", "killed at a write"])
def test_at_the_write_that_goes_beyond_any_size(tmp_path, adder, rng, runs, die):
    """A limit on a file's size stops the very write that would exceed it: refused like a full disk, or by a kill."""
    expected = finished_digest(tmp_path, spec_of(trials=TRIALS))
    make_store(tmp_path / "empty", trials=TRIALS).close()
    with make_store(tmp_path / "full", trials=TRIALS) as store:
        finish(store, store.begin_run({}))
    largest = (tmp_path / "full").stat().st_size
    path = tmp_path / "s"
    stopped = 0
    for index in range(runs):
        shutil.copy(tmp_path / "empty", path)
        # Small limits stop the journal, larger ones the file.
        room = rng.choice([rng.randrange(1, 6 * 4096), rng.randrange(1, largest + 4096)]) if index else 0
        ending = adder(what="add", path=path, seed=1, room=room, die=die)
        if ending.code == 0:
            assert room >= largest - 4096
            continue
        stopped += 1
        if die:
            assert ending.code == -signal.SIGXFSZ
        else:
            assert ending.code == 1
            assert ending.refused
            assert ending.refused.startswith(f"UnwritableError 1 {path}: ")
        assert verify(path) == []
        with Store.open(path) as store:
            assert sorted(ending.added) == sorted((*key, one.number) for *key, one in numbered(store))
        assert adder(what="add", path=path, seed=2).code == 0
        with Store.open(path) as store:
            assert store.digest() == expected
    assert stopped > runs / 2


def numbered(store: Store) -> list[tuple]:
    return [(one.batch_size, one.sparsity, one.result) for one in store.trials()]


@pytest.fixture
def public():
    """A folder that another user can look into, and not write."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_can_be_read_and_says_why_it_cannot_be_written(public, adder):
    path = public / "study.sqlite"
    with make_store(path) as store:
        finish(store, store.begin_run({}))
        store.grow({**store.spec, "trials": 9})
        digest = store.digest()
    public.chmod(0o555)
    assert adder(what="read", path=path, nobody=True).digest == digest
    ending = adder(what="add", path=path, seed=1, nobody=True)
    assert (ending.code, ending.added) == (1, [])
    assert str(path) in (ending.refused or "")
    path.chmod(0o666)  # the file may be written, and its journal cannot be made
    ending = adder(what="add", path=path, seed=1, nobody=True)
    assert (ending.code, ending.added) == (1, [])
    assert verify(path) == []


def test_a_dead_writers_journal_is_no_obstacle_to_readers(public, adder):
    path = public / "study.sqlite"
    with make_store(public / "original.sqlite") as store:
        finish(store, store.begin_run({}))
        digest = store.digest()
    leave_hot_journal(public / "original.sqlite", path)
    assert sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True).execute(
        "SELECT DISTINCT engine FROM trial"
    ).fetchall() == [("overwritten",)], "the file itself is in the middle of a commit"
    public.chmod(0o555)
    assert adder(what="read", path=path, nobody=True).digest == digest
    public.chmod(0o755)
    with Store.open(path) as store:
        assert store.digest() == digest
    assert not path.with_name("study.sqlite-journal").exists()


def leave_hot_journal(original: Path, path: Path) -> None:
    """Copy the file and the journal of a writer that is just then writing its pages."""
    raw = sqlite3.connect(original, isolation_level=None)
    raw.execute("PRAGMA cache_size=1")
    raw.execute("PRAGMA cache_spill=1")
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("UPDATE trial SET engine = 'overwritten'")
    raw.execute("CREATE TABLE filler (x)")
    raw.executemany("INSERT INTO filler VALUES (?)", [("x" * 3000,)] * 50)
    shutil.copy(original, path)
    shutil.copy(f"{original}-journal", f"{path}-journal")
    raw.execute("ROLLBACK")
    raw.close()


def test_creating_is_whole_or_not_at_all(tmp_path, monkeypatch):
    def no_room(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(ParsityError, match="No space left") as caught:
        make_store(tmp_path / "s")
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []
