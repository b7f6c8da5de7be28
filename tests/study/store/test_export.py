"""Exports say what the store says, in columns that stay; the batch-science layout comes back as it was."""

import csv
import json
import math
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from make_believe import finish, make_store

from parsity.errors import UsageError
from parsity.results import Complete, Incomplete, Infeasible
from parsity.study import Store, UnwritableError
from parsity.study.exporting import (
    FORMATS,
    TABLE_COLUMNS,
    TRIAL_COLUMNS,
    export,
    import_results,
    table_rows,
    trial_rows,
)
from parsity.study.store import compare

SPACE = {
    "learning_rate": {"scale": "log", "low": 1e-4, "high": 1.0},
    "momentum": {"scale": "reverse-log", "low": 0.0, "high": 0.9999},
    "decay_steps": {"scale": "integer", "low": 0, "high": 100_000},
}
DOCUMENT = Path(__file__).parents[3] / "docs" / "columns.md"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    changes: dict[str, Any] = {"patience": "inf", "step_limit": 320, "space": SPACE, "sparsities": (0.0, 0.5, 0.9)}
    with make_store(tmp_path_factory.mktemp("store") / "s", **changes) as store:
        run = store.begin_run({"cpu": "of this test"})
        finish(store, run)
        store.end_run(run, "finished")
        store.grow({**store.spec, "batch_sizes": [2, 8, 32]})  # a cell of which nothing is known yet
        yield store


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def same(text: str, value: object) -> bool:
    """Whether a CSV field says a value, exactly."""
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == str(value).lower()
    return type(value)(text) == value


def test_the_page_describes_the_columns():
    page = DOCUMENT.read_text()
    for title, columns in (("table", TABLE_COLUMNS), ("trials", TRIAL_COLUMNS)):
        lines = ["| column | type | meaning | empty if |", "| --- | --- | --- | --- |"]
        lines += [f"| `{one.name}` | {one.kind.__name__} | {one.meaning} | {one.empty} |" for one in columns]
        assert "\n".join(lines) in page, f"{title} is not in {DOCUMENT.name} as it is"


@pytest.mark.parametrize(("rows", "columns"), [(table_rows, TABLE_COLUMNS), (trial_rows, TRIAL_COLUMNS)])
def test_rows_have_the_columns_and_kinds_they_should(store, rows, columns):
    for row in rows(store):
        assert list(row) == [column.name for column in columns]
        for column in columns[:-1]:
            value = row[column.name]
            assert type(value) is column.kind or (value is None and column.empty)


def test_csv_says_what_the_store_says(store, tmp_path):
    export(store, "csv", tmp_path / "o ut é")
    for name, rows in (("table", table_rows(store)), ("trials", trial_rows(store))):
        found = read(tmp_path / "o ut é" / f"{name}.csv")
        assert len(found) == len(rows)
        for line, row in zip(found, rows, strict=True):
            searched = row.pop("metaparameters") or dict.fromkeys(SPACE)
            row |= {f"metaparameter_{key}": value for key, value in searched.items()}
            assert set(line) == set(row)
            assert all(same(line[key], value) for key, value in row.items())
    about = json.loads((tmp_path / "o ut é" / "about.json").read_text())
    assert about["digest"] == store.digest()
    assert about["spec"] == store.spec
    assert about["runs"]["1"]["cpu"] == "of this test"


def test_json_is_strict_and_says_what_the_store_says(store, tmp_path):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    export(store, "json", tmp_path / "o.json")
    found = json.loads((tmp_path / "o.json").read_text(), parse_constant=refuse)
    assert found["about"]["digest"] == store.digest()
    assert found["table"] == table_rows(store)
    trials = trial_rows(store)
    assert {row.pop("patience") for row in trials} == {math.inf}
    assert {row.pop("patience") for row in found["trials"]} == {"inf"}
    assert found["trials"] == trials


def test_the_trials_of_a_cell_are_those_of_the_table(store):
    trials = trial_rows(store)
    for row in table_rows(store):
        some = [one for one in trials if all(one[key] == row[key] for key in ("batch_size", "sparsity", "goal"))]
        complete = [one for one in some if one["status"] == "complete"]
        assert row["trials"] == len(some)
        assert row["complete"] == len(complete)
        assert row["steps_to_result"] == min((one["step"] for one in complete), default=None)
        assert [one["trial"] for one in some if one["winner"]] == ([] if row["winner"] is None else [row["winner"]])


def test_parquet_says_what_the_store_says(store, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export(store, "parquet", tmp_path / "out")
    for name, rows in (("table", table_rows(store)), ("trials", trial_rows(store))):
        found = parquet.read_table(tmp_path / "out" / f"{name}.parquet")
        assert json.loads(found.schema.metadata[b"parsity"])["digest"] == store.digest()
        for row in rows:
            searched = row.pop("metaparameters") or dict.fromkeys(SPACE)
            row |= {f"metaparameter_{key}": value for key, value in searched.items()}
        assert found.to_pylist() == [{name: row[name] for name in found.column_names} for row in rows]


def test_optuna_finds_the_winners(store, tmp_path):
    optuna = pytest.importorskip("optuna")
    journal = pytest.importorskip("optuna.storages.journal")
    export(store, "optuna", tmp_path / "o.log")
    storage = optuna.storages.JournalStorage(journal.JournalFileBackend(str(tmp_path / "o.log")))
    for row in store.table():
        if row.trials:
            name = f"digits, batch size {row.batch_size}, sparsity {row.sparsity}, goal {row.goal}"
            study = optuna.load_study(study_name=name, storage=storage)
            assert len(study.trials) == row.trials
            states = [trial.state.name for trial in study.trials]
            assert states.count("COMPLETE") == row.outcomes.get("complete", 0)
            assert states.count("FAIL") == row.outcomes.get("infeasible", 0)
            if row.winner:
                assert study.best_value == row.steps_to_result
                # Of several with as few steps Optuna names any.
                assert row.winner in [t.user_attrs["trial"] for t in study.trials if t.value == study.best_value]
                winner = next(trial for trial in study.trials if trial.user_attrs["trial"] == row.winner)
                assert winner.params == row.metaparameters


@pytest.mark.parametrize(("to", "module"), [("parquet", "pyarrow"), ("optuna", "optuna")])
def test_a_library_that_is_not_there_is_named(store, tmp_path, monkeypatch, to, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf"{module} is not installed; pip install 'parsity\[{to}\]'"):
        export(store, to, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_and_nothing_is_left(store, tmp_path):
    with pytest.raises(UsageError, match="allowed are csv, json, parquet, optuna, batch-science"):
        export(store, "xml", tmp_path / "out")
    for to in FORMATS:
        (tmp_path / "there").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match="something already"):
            export(store, to, tmp_path / "there")
    with pytest.raises(UnwritableError, match="No such file"):
        export(store, "json", tmp_path / "nowhere" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


# The batch-science layout


def steps_to_result(workload: Path, column: str, *, at_least: float) -> dict[int, tuple[int, int]]:
    """(step, trial) by batch size, as the authors' loader and helper find them."""
    found = {}
    for study in sorted(workload.iterdir(), key=lambda path: int(path.name)):
        facts = json.loads((study / "study.json").read_text())
        rows = []
        for trial in (path for path in study.iterdir() if path.is_dir()):
            metadata = json.loads((trial / "metadata.json").read_text())
            if metadata["status"] == "COMPLETE":
                table = read(trial / "measurements.csv")
                rows += [
                    (int(row["step"]), metadata["trial_id"])
                    for row in table
                    if row[column] and float(row[column]) > at_least
                ]
        if rows:
            found[facts["batch_size"]] = min(rows)
    return found


def test_the_authors_loader_finds_the_same_steps(store, tmp_path):
    export(store, "batch-science", tmp_path / "out")
    for sparsity, top in ((0.0, "."), (0.5, "sparsity_0.5"), (0.9, "sparsity_0.9")):
        workload = tmp_path / "out" / top / "digits" / "digits_cnn" / "momentum"
        for goal in (0.02, 0.05):
            expected = {
                row.batch_size: (row.steps_to_result, row.winner)
                for row in store.table()
                if (row.sparsity, row.goal) == (sparsity, goal) and row.winner
            }
            assert steps_to_result(workload, f"val/met_goal_{goal}", at_least=0.5) == expected
    study = json.loads((workload / "8" / "study.json").read_text())
    assert study["parameter_configs"]["learning_rate_decay_steps"] == {
        "max_value": 100_000,
        "min_value": 0,
        "scale": "",
        "type": "INTEGER",
    }
    assert study["parameter_configs"]["momentum"]["scale"] == "REVERSE_LOG_SCALE"


@pytest.mark.parametrize("to", ["batch-science", "json"])
def test_own_data_comes_back_as_it_was(store, tmp_path, to):
    export(store, to, tmp_path / "out")
    with import_results(tmp_path / "out", tmp_path / "s") as found:
        assert found.digest() == store.digest()
        assert [one.result for one in found.trials()] == [one.result for one in store.trials()]
        assert found.runs().keys() == store.runs().keys()
        assert found.spec == store.spec
        assert compare(store, found).same
        assert found.verify() == []


def test_own_data_that_was_changed_is_refused(store, tmp_path):
    export(store, "batch-science", tmp_path / "out")
    place = tmp_path / "out" / "digits" / "digits_cnn" / "momentum" / "8" / "1" / "metadata.json"
    place.write_text(place.read_text().replace('"learning_rate": 0.', '"learning_rate": 1.'))
    with pytest.raises(UsageError, match="not those that were exported"):
        import_results(tmp_path / "out", tmp_path / "s")
    assert not (tmp_path / "s").exists()
    with pytest.raises(UsageError, match="has its own goals"):
        import_results(tmp_path / "out", tmp_path / "s", goals=[0.1])


def test_a_json_export_that_was_changed_is_refused(store, tmp_path):
    out = tmp_path / "out.json"
    export(store, "json", out)
    text = out.read_text()

    def refused(match: str, text: str, **words: Any) -> None:
        out.write_text(text)
        with pytest.raises(UsageError, match=match) as caught:
            import_results(out, tmp_path / "s", **words)
        assert len(str(caught.value).splitlines()) == 1
        assert not (tmp_path / "s").exists()

    refused("not those that were exported", text.replace('"learning_rate": 0.', '"learning_rate": 1.'))
    refused("has its own goals", text, goals=[0.1])
    refused("it has no 'about'", "{}")
    refused("not as the layout has it", text[:-100])
    refused("it has no 'run'", text.replace('"run"', '"ran"'))


MEASURED = "step,train/cross_entropy_error,val/classification_error,test/classification_error\n"


def publish(folder: Path, batch_size: int, trials: dict[int, tuple[str, int, list[tuple]]], **facts: Any) -> None:
    """Write a study as others published theirs."""
    study = folder / "mnist" / "simple_cnn_base" / "nesterov_momentum" / str(batch_size)
    study.mkdir(parents=True)
    configs = {
        "label_smoothing": {"feasible_points": [0.0, 0.01], "type": "DISCRETE"},
        "learning_rate": {"max_value": 10.0, "min_value": 0.0001, "scale": "LOG_SCALE", "type": "DOUBLE"},
        "learning_rate_decay_steps": {"max_value": 600, "min_value": 300, "scale": "", "type": "INTEGER"},
        "momentum": {"max_value": 0.9999, "min_value": 0.9, "scale": "REVERSE_LOG_SCALE", "type": "DOUBLE"},
    }
    names = {"dataset": "mnist", "model": "simple_cnn_base", "optimizer": "nesterov_momentum"}
    heading = {"batch_size": batch_size, "early_stopping": False, "parameter_configs": configs, "train_steps": 400}
    (study / "study.json").write_text(json.dumps({**names, **heading, **facts}))
    for number, (status, steps, rows) in trials.items():
        (study / str(number)).mkdir()
        parameters = {"learning_rate": 0.1 * number, "learning_rate_decay_steps": 300, "momentum": 0.9}
        metadata = {"parameters": parameters, "status": status, "steps": steps, "trial_id": number}
        (study / str(number) / "metadata.json").write_text(json.dumps({"_internal_trial_id": 7, **metadata}))
        lines = [",".join(map(str, row)) + "\n" for row in rows]
        (study / str(number) / "measurements.csv").write_text(MEASURED + "".join(lines))


@pytest.fixture
def published(tmp_path) -> Path:
    folder = tmp_path / "published"
    trials = {
        1: ("COMPLETE", 400, [(0, 2.3, 0.005, 0.9), (100, 0.5, 0.1, 0.11), (200, 0.1, 0.010000000000000009, 0.02)]),
        2: ("COMPLETE", 400, [(0, 2.3, 0.9, 0.9), (100, 0.5, 0.1, 0.11), (400, 0.1, 0.02, 0.02)]),
        3: ("INFEASIBLE", 150, [(0, 2.3, 0.9, 0.9), (100, 0.5, 0.1, 0.11), (150, "nan", "nan", "nan")]),
        4: ("INCOMPLETE", 20, [(0, 2.3, 0.9, 0.9), (20, 0.5, 0.001, 0.11)]),
        7: ("INFEASIBLE", 300, [(100, 0.1, 0.01, 0.015), (300, "inf", "", "")]),
    }
    publish(folder, 64, trials)
    publish(folder, 8, {1: trials[2]})
    return folder


def test_others_data_becomes_outcomes(published, tmp_path, caplog):
    with import_results(published, tmp_path / "s", goals=[0.01, 0.02]) as store:
        assert [(cell.batch_size, cell.sparsity) for cell in store.cells()] == [(8, 0.0), (64, 0.0)]
        cell = store.cell(64, 0.0)
        assert {trial.number: trial.outcomes[0.01] for trial in cell.trials} == {
            1: Complete(200, 100),
            2: Incomplete(400),
            3: Infeasible(150),
            7: Complete(100, 0),
        }
        assert cell.trials[1].outcomes[0.02] == Complete(400, 100)
        assert cell.workload == "mnist/simple_cnn_base/nesterov_momentum"
        winner = cell.winner(0.01)
        assert winner
        assert (winner.number, winner.step, winner.trial.test_errors) == (7, 100, {0.01: 0.015, 0.02: 0.015})
        assert cell.trials[0].metaparameters == {"learning_rate": 0.1, "decay_steps": 300, "momentum": 0.9}
        assert cell.trials[0].log[1] == (100, 0.5, 0.1)
        assert store.spec["space"]["decay_steps"] == {"scale": "integer", "low": 300, "high": 600}
        assert store.spec["space"]["label_smoothing"] == {"scale": "choice", "options": [0.0, 0.01]}
        assert store.verify() == []
        assert "1 trials were broken off" in caplog.text
        for to in ("csv", "json", "batch-science"):
            export(store, to, tmp_path / to)
        with import_results(tmp_path / "batch-science", tmp_path / "again") as again:
            assert again.digest() == store.digest()


def test_what_is_wrong_with_others_data_is_said(published, tmp_path):
    target = tmp_path / "s"

    def refused(match: str, folder: Path = published, **words: Any) -> None:
        with pytest.raises(UsageError, match=match) as caught:
            import_results(folder, target, **words)
        assert len(str(caught.value).splitlines()) == 1
        assert not target.exists()

    refused("name the goals")
    refused("no such file or folder", tmp_path / "nowhere", goals=[0.1])
    (tmp_path / "empty").mkdir()
    refused("no study.json", tmp_path / "empty", goals=[0.1])
    refused(r"measurements.csv: it has no 'val/f1'", goals=[0.1], measure="val/f1")
    trial = published / "mnist" / "simple_cnn_base" / "nesterov_momentum" / "8" / "1"
    metadata = (trial / "metadata.json").read_text()
    for text, match in (("{", "not as the layout has it"), ("[]", "no object"), ("{}", "it has no 'status'")):
        (trial / "metadata.json").write_text(text)
        refused(rf"1.metadata.json: {match}|{match}", goals=[0.1])
    (trial / "metadata.json").write_text(metadata.replace("COMPLETE", "ODD"))
    refused("status 'ODD'", goals=[0.1])
    (trial / "metadata.json").unlink()
    refused("metadata.json: No such file", goals=[0.1])
    (trial / "metadata.json").write_text(metadata)
    (published / "other" / "8").mkdir(parents=True)
    facts = {"batch_size": 8, "dataset": "cifar_10", "model": "m", "optimizer": "o"}
    (published / "other" / "8" / "study.json").write_text(json.dumps(facts))
    refused("several workloads .cifar_10/m/o, mnist", goals=[0.1])


def test_compare_shows_what_differs(store, tmp_path):
    with make_store(tmp_path / "b", goals=(0.02, 0.05, 0.1), patience=2, trials=3, sparsities=(0.0,)) as other:
        finish(other, other.begin_run({}))
        found = compare(store, other)
        assert not found.same
        assert found.spec["trials"] == (6, 3)
        assert found.spec["space.momentum.low"] == (0.0, None)
        assert "seed" not in found.spec
        rows = {(row.batch_size, row.sparsity, row.goal): row for row in found.rows}
        assert set(rows) == {
            *((b, s, g) for b in (2, 8, 32) for s in (0.0, 0.5, 0.9) for g in (0.02, 0.05)),
            *((b, 0.0, g) for b in (2, 8) for g in (0.02, 0.05, 0.1)),
        }
        for (batch_size, sparsity, goal), row in rows.items():
            for one, steps in ((store, row.steps_a), (other, row.steps_b)):
                asked = goal in one.grid.goals and (batch_size, sparsity) in one.grid.cells
                assert steps == (one.cell(batch_size, sparsity).steps_to_result(goal) if asked else None)
            if row.steps_a and row.steps_b:
                assert row.ratio == row.steps_b / row.steps_a
                assert row.same == (row.steps_a == row.steps_b and row.winner_a == row.winner_b)
        assert compare(store, store).same
        assert all(row.same for row in compare(store, store).rows)


def test_an_export_is_of_one_moment(store):
    with Store.open(store.path) as reader, reader.at_one_moment():
        before = reader.digest()
        busy = sqlite3.connect(store.path, timeout=0, isolation_level=None)
        busy.execute("BEGIN IMMEDIATE")
        busy.execute("DELETE FROM head")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            busy.execute("COMMIT")
        busy.execute("ROLLBACK")
        busy.close()
        assert reader.digest() == before
