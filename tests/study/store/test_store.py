"""The store's contract, clause by clause."""

import json
import math
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from make_believe import GOALS, add, best_steps, finish, finished_digest, make_store, measured, spec_of

from parsity.errors import BusyError, DamagedError, ParsityError, UsageError
from parsity.results import Complete, Infeasible, Outpaced, TrialResult, settled
from parsity.storage import connection
from parsity.study import AlreadyStoredError, Store, gather_provenance, verify


def trial(number: int, **outcomes) -> TrialResult:
    return TrialResult(
        number=number,
        metaparameters={"learning_rate": 0.1 * number, "decay_steps": 30_000, "rule": "sgd é"},
        outcomes={float(name.removeprefix("g").replace("_", ".")): one for name, one in outcomes.items()},
        steps=48,
        images_looked_at=9,
        seconds=1 / 3,
    )


def one_cell(
    path: Path, *results: TrialResult, patience: float = 1.0, goals=(0.02,), trials: int | None = None
) -> Store:
    store = make_store(
        path, batch_sizes=(8,), sparsities=(0.9,), goals=goals, trials=trials or len(results), patience=patience
    )
    add(store, 8, 0.9, list(results), store.begin_run({}), patience)
    return store


def test_what_is_added_comes_back(tmp_path):
    path = tmp_path / "a study, é #1?%20.sqlite"
    with make_store(path, patience="inf") as store:
        run = store.begin_run(gather_provenance(data_digest="d" * 64, threads=1))
        results = [measured(8, 0.9, number, math.inf, dict.fromkeys(GOALS[:2], math.inf)) for number in range(1, 7)]
        add(store, 8, 0.9, results, run, math.inf)
        store.end_run(run, "finished")
    with Store.open(path) as store:
        cell = store.cell(8, 0.9)
        assert cell.trials == settled(results, GOALS[:2], math.inf)
        assert cell.trials[2].log == results[2].log != ()
        assert (cell.engine, cell.test, cell.workload) == ("plain", "certified", "digits")
        assert store.cells() == (cell,)
        assert [one.result for one in store.trials()] == list(cell.trials)
        assert {(one.run, one.revision, one.patience) for one in store.trials()} == {(run, 1, math.inf)}
        assert [int(one.mask_digest or "", 16) for one in store.trials()] == list(range(1, 7))
        assert store.spec == spec_of(patience="inf")
        assert store.identity == "f" * 64
        assert store.runs()[run]["how"] == "finished"
        assert store.runs()[run]["libraries"]["torch"]
        assert store.verify() == []


def test_numbers_of_numpy_are_numbers(tmp_path):
    numpy = pytest.importorskip("numpy")
    strange = TrialResult(
        number=numpy.int64(1),
        metaparameters={"learning_rate": numpy.float64(0.1), "momentum": numpy.float32(0.5), "n": numpy.int32(3)},
        outcomes={numpy.float64(0.02): Complete(numpy.int64(48), numpy.int64(32))},
        steps=numpy.int64(48),
        images_looked_at=numpy.int64(5),
        seconds=numpy.float64(0.5),
        test_errors={0.02: numpy.float32(0.25)},
    )
    with one_cell(tmp_path / "s", strange) as store:
        (found,) = store.cell(8, 0.9).trials
        assert found.metaparameters == {"learning_rate": 0.1, "momentum": 0.5, "n": 3}
        assert found.test_errors == {0.02: 0.25}
        assert store.verify() == []


def test_the_table_is_what_the_cells_say(tmp_path):
    with make_store(tmp_path / "s", trials=9) as store:
        finish(store, store.begin_run({}), late=True)
        rows = {(row.batch_size, row.sparsity, row.goal): row for row in store.table()}
        for cell in store.cells():
            for summary in cell.summary()["goals"]:
                row = rows.pop((cell.batch_size, cell.sparsity, summary["goal"]))
                for name, value in summary.items():
                    assert getattr(row, name) == value, name
        assert not rows


def test_the_store_is_open_to_readers_while_it_is_written(tmp_path):
    with (
        make_store(tmp_path / "s") as writer,
        Store.open(tmp_path / "s") as reader,
        Store.open(tmp_path / "s") as third,
    ):
        run = writer.begin_run({})
        assert [reader.cells(), third.cells()] == [(), ()]
        finish(writer, run)
        assert writer.cells() == reader.cells() == third.cells() != ()
        with pytest.raises(UsageError, match="for reading only"):
            reader.begin_run({})


def test_a_second_writer_waits_and_is_then_told(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)
    make_store(tmp_path / "s").close()
    other = sqlite3.connect(tmp_path / "s", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(tmp_path / "s", writable=True) as store:
        with pytest.raises(BusyError, match="another process") as caught:
            store.begin_run({})
        assert caught.value.exit_code == 75
        other.close()
        assert store.begin_run({}) == 1


def test_nothing_is_made_where_something_is(tmp_path):
    with pytest.raises(UsageError, match="there is no study"):
        Store.open(tmp_path / "s")
    make_store(tmp_path / "s").close()
    with pytest.raises(UsageError, match="already"):
        make_store(tmp_path / "s")
    with pytest.raises(UsageError, match="'trials'"):
        Store.create(tmp_path / "t", spec={key: v for key, v in spec_of().items() if key != "trials"}, identity="x")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("contents", [b"", b"something else", b"SQLite format 3\0" + bytes(84), bytes(8192)])
def test_what_is_no_study_is_refused(tmp_path, contents):
    (tmp_path / "s").write_bytes(contents)
    with pytest.raises(DamagedError) as caught:
        Store.open(tmp_path / "s")
    assert caught.value.exit_code == 4
    assert verify(tmp_path / "s")


def test_another_programs_database_and_a_newer_one_are_refused(tmp_path):
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE pets (name TEXT)")
    other.close()
    with pytest.raises(DamagedError, match="no Parsity study"):
        Store.open(tmp_path / "other")
    make_store(tmp_path / "s").close()
    newer = sqlite3.connect(tmp_path / "s")
    newer.execute("PRAGMA user_version=77")
    newer.close()
    for look in (Store.open, verify):
        with pytest.raises(ParsityError, match="newer Parsity wrote it") as caught:
            look(tmp_path / "s")
        assert caught.value.exit_code == 1


class TestAdding:
    def test_a_stored_trial_is_final(self, tmp_path):
        with one_cell(tmp_path / "s", trial(1, g0_02=Outpaced(48)), trial(2, g0_02=Complete(48, 32))) as store:
            before = store.cells()
            late = [trial(1, g0_02=Complete(64, 48)), trial(3, g0_02=Complete(16, 0))]
            with pytest.raises(AlreadyStoredError, match=r"trial 1$") as caught:
                add(store, 8, 0.9, late, 1, 1.0)
            assert caught.value.numbers == (1,)
            assert store.cells() == before

    def test_more_patience_makes_a_new_revision(self, tmp_path):
        with one_cell(tmp_path / "s", trial(1, g0_02=Outpaced(48)), trial(2, g0_02=Complete(48, 32))) as store:
            store.grow({**store.spec, "patience": 2})
            assert store.due(8, 0.9) == [1]
            again = trial(1, g0_02=Complete(96, 80))
            with pytest.raises(AlreadyStoredError):
                add(store, 8, 0.9, [again], 1, 0.5)
            add(store, 8, 0.9, [again], 1, 2.0)
            assert store.cell(8, 0.9).trials[0].outcomes == {0.02: Complete(96, 80)}
            assert [one.revision for one in store.trials()] == [2, 1]
            assert store.due(8, 0.9) == []
            assert len(store.specs) == 2
            with pytest.raises(AlreadyStoredError):
                add(store, 8, 0.9, [again], 1, 2.0)
            assert store.verify() == []

    def test_patience_that_does_not_reach_the_next_check_is_no_more_patience(self, tmp_path):
        with one_cell(tmp_path / "s", trial(1, g0_02=Outpaced(48)), trial(2, g0_02=Complete(48, 32))) as store:
            assert store.due(8, 0.9, patience=1.3) == []
            assert store.due(8, 0.9, patience=64 / 48) == [1]
            assert store.due(8, 0.9, patience=math.inf) == [1]

    def test_more_goals_make_a_new_revision_and_fewer_do_not(self, tmp_path):
        with one_cell(tmp_path / "s", trial(1, g0_02=Complete(48, 32))) as store:
            store.grow({**store.spec, "goals": [0.02, 0.05]})
            assert store.due(8, 0.9) == [1]
            assert store.cell(8, 0.9).trials == ()
            assert store.cell(8, 0.9, goals=[0.02]).steps_to_result() == 48
            with pytest.raises(AlreadyStoredError):
                add(store, 8, 0.9, [trial(1, g0_05=Complete(16, 0))], 1, 1.0)
            add(store, 8, 0.9, [trial(1, g0_02=Complete(48, 32), g0_05=Complete(16, 0))], 1, 1.0)
            assert store.cell(8, 0.9).steps_to_result(0.05) == 16
            assert store.due(8, 0.9) == []

    def test_ending_differently_the_second_time_is_said(self, tmp_path, caplog):
        with one_cell(tmp_path / "s", trial(1, g0_02=Complete(48, 32))) as store:
            add(store, 8, 0.9, [trial(1, g0_02=Complete(64, 48))], 1, 2.0)
        assert "ended differently" in caplog.text

    def test_a_trial_outpaced_by_one_that_never_came_is_run_again(self, tmp_path):
        with one_cell(tmp_path / "s", trial(1, g0_02=Outpaced(48)), trial(2, g0_02=Outpaced(48)), trials=3) as store:
            assert store.due(8, 0.9) == [3]
            store.set_aside(8, 0.9, [3], "killed", 3)
            assert store.due(8, 0.9) == [1, 2, 3]
            add(store, 8, 0.9, [trial(1, g0_02=Complete(96, 80)), trial(2, g0_02=Outpaced(96))], 1, 1.0)
            assert store.due(8, 0.9) == [3]

    @pytest.mark.parametrize(
        ("results", "match"),
        [
            ([trial(1, g0_02=Complete(48, 32)), trial(1, g0_02=Complete(48, 32))], "twice"),
            ([trial(1, g0_02=Complete(48, 32)), trial(2, g0_05=Complete(48, 32))], "outcomes for goals"),
        ],
    )
    def test_results_that_cannot_be_are_refused_whole(self, tmp_path, results, match):
        with make_store(tmp_path / "s") as store:
            run = store.begin_run({})
            with pytest.raises(UsageError, match=match):
                add(store, 8, 0.9, results, run, 1.0)
            with pytest.raises(UsageError, match="run 7"):
                add(store, 8, 0.9, results[:1], 7, 1.0)
            with pytest.raises(UsageError, match="no such cell"):
                add(store, 0, 0.9, results[:1], run, 1.0)
            assert store.cells() == ()
            assert store.verify() == []

    def test_what_was_set_aside_and_came_after_all_is_no_longer_set_aside(self, tmp_path):
        with make_store(tmp_path / "s") as store:
            run = store.begin_run({})
            store.set_aside(8, 0.9, [1, 2], "killed by signal 9", 3)
            store.set_aside(8, 0.9, [2], "out of memory\nagain", 3)
            assert [(note.number, note.reason) for note in store.set_asides()] == [
                (1, "killed by signal 9"),
                (2, "out of memory\nagain"),
            ]
            (state,) = (one for one in store.state() if (one.batch_size, one.sparsity) == (8, 0.9))
            assert (state.set_aside, state.due, state.measured) == ((1, 2), (1, 2, 3, 4, 5, 6), 0)
            add(store, 8, 0.9, [measured(8, 0.9, 2, 1.5, dict.fromkeys(GOALS[:2], 99.0))], run, 1.5)
            assert [note.number for note in store.set_asides()] == [1]

    def test_a_run_ends_once(self, tmp_path):
        with make_store(tmp_path / "s") as store:
            run = store.begin_run({"started": "2021-05-04T00:00:00+00:00"})
            assert store.runs()[run]["ended"] is None
            store.end_run(run, "interrupted")
            with pytest.raises(UsageError, match="has ended"):
                store.end_run(run, "finished")
            assert store.runs()[run]["started"].startswith("2021")


class TestGrowing:
    @pytest.mark.parametrize(
        "smaller",
        [{"trials": 5}, {"batch_sizes": [2]}, {"sparsities": [0.0]}, {"goals": [0.02]}, {"patience": 1}],
    )
    def test_a_study_does_not_shrink(self, tmp_path, smaller):
        with make_store(tmp_path / "s") as store:
            with pytest.raises(UsageError, match="may grow and not shrink"):
                store.grow(spec_of(**smaller))
            assert store.spec == spec_of()

    def test_growing_by_nothing_keeps_no_copy(self, tmp_path):
        with make_store(tmp_path / "s") as store:
            store.grow(spec_of())
            assert len(store.specs) == 1

    @pytest.mark.parametrize(
        "larger", [{"trials": 9}, {"batch_sizes": (2, 8, 32)}, {"goals": GOALS}, {"patience": 3}, {"patience": "inf"}]
    )
    def test_a_grown_study_is_as_if_it_had_been_asked_for_at_once(self, tmp_path, larger):
        with make_store(tmp_path / "s") as store:
            run = store.begin_run({})
            finish(store, run)
            small = store.digest()
            store.grow(spec_of(**larger))
            finish(store, run)
            assert store.digest() == finished_digest(tmp_path, store.spec) != small
            assert store.verify() == []


class TestDigest:
    def test_however_it_was_split_and_ordered(self, tmp_path):
        expected = finished_digest(tmp_path, spec_of(trials=12))
        for seed in range(12):
            rng = random.Random(seed)
            with make_store(tmp_path / f"{seed}", trials=12) as store:
                shards = []
                for key in store.grid.cells:
                    best = best_steps(*key, range(1, 13), store.grid.goals)
                    numbers = rng.sample(range(1, 13), 12)
                    for start in range(0, 12, at_once := rng.choice([1, 3, 5, 12])):
                        # Each learns of K* at some time of its own, or never.
                        bounds = {g: rng.choice([k, k + 16, k * 2, math.inf]) for g, k in best.items()}
                        some = [measured(*key, n, 1.5, bounds) for n in numbers[start : start + at_once]]
                        shards.append((key, some))
                rng.shuffle(shards)
                run = store.begin_run({"seed": seed})
                for key, some in shards:
                    add(store, *key, some, run, 1.5)
                assert store.digest() == expected, seed

    def test_it_depends_on_what_was_measured(self, tmp_path):
        base = [trial(1, g0_02=Complete(48, 32)), trial(2, g0_02=Infeasible(3)), trial(3, g0_02=Outpaced(48))]
        digests = set()

        def digest(results, name="s", **changes) -> str:
            (tmp_path / name).unlink(missing_ok=True)
            with one_cell(tmp_path / name, *results, **changes) as store:
                return store.digest()

        digests.add(digest(base))
        digests.add(digest([trial(1, g0_02=Complete(48, 16)), *base[1:]]))
        digests.add(digest([trial(1, g0_02=Complete(32, 16)), *base[1:]]))
        digests.add(digest([base[0], trial(2, g0_02=Infeasible(4)), base[2]]))
        digests.add(digest(base[:2]))
        assert len(digests) == 5
        assert digest([*base[:2], trial(3, g0_02=Outpaced(64))]) in digests

    def test_an_end_between_checks_shows_only_if_its_interval_counts(self, tmp_path):
        """One process knew K* and stopped at 48; another did not, and saw the step after 48 diverge."""
        with one_cell(tmp_path / "a", trial(1, g0_02=Complete(48, 32)), trial(2, g0_02=Outpaced(48))) as store:
            knew = store.digest()
        with one_cell(tmp_path / "b", trial(1, g0_02=Complete(48, 32)), trial(2, g0_02=Infeasible(48))) as store:
            assert store.digest() == knew
            assert store.cell(8, 0.9).trials[1].outcomes == {0.02: Outpaced(48)}
            assert store.table()[0].outcomes == {"complete": 1, "outpaced": 1}
        with one_cell(tmp_path / "c", trial(1, g0_02=Complete(48, 32)), trial(2, g0_02=Infeasible(47))) as store:
            assert store.digest() != knew


def test_reading_needs_neither_torch_nor_numpy(tmp_path):
    make_store(tmp_path / "s").close()
    code = f"""
import sys
from pathlib import Path
from parsity.study import Store, gather_provenance
with Store.open(Path({str(tmp_path / "s")!r})) as store:
    store.table(), store.state(), store.cells(), store.digest(), store.verify(), gather_provenance()
assert not {{"torch", "numpy", "pickle"}} & set(sys.modules), "heavy"
"""
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_the_file_says_what_it_is(tmp_path):
    make_store(tmp_path / "s").close()
    raw = sqlite3.connect(tmp_path / "s")
    assert raw.execute("PRAGMA application_id").fetchone() == (0x50727379,)
    assert raw.execute("PRAGMA user_version").fetchone() == (2,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with Store.open(tmp_path / "s", writable=True) as store:
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
    tables = raw.execute("SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'").fetchall()
    assert tables
    assert all(strict for _, strict in tables)
    assert json.loads(raw.execute("SELECT spec FROM spec").fetchone()[0]) == spec_of()
    raw.close()
