"""Export, import, compare."""

import csv
import json

import pytest

from parsity.cli import main
from parsity.results import Complete
from parsity.study import STORE, Store


def digest(folder) -> str:
    with Store.open(folder / STORE) as store:
        return store.digest()


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_an_export_is_named_after_the_study_and_its_form(finished, say, tmp_path):
    assert say("export", finished, "--to", "csv") == "finished-csv\n"
    with (tmp_path / "finished-csv" / "table.csv").open() as file:
        assert [row["steps_to_result"] for row in csv.DictReader(file)] == ["592", "1480", "48", ""]
    assert say("export", finished, "--to", "json", "--output", tmp_path / "out.json") == f"{tmp_path / 'out.json'}\n"
    assert len(json.loads((tmp_path / "out.json").read_text())["trials"]) == 12


def test_an_export_in_json_says_where_and_of_what(finished, say_json):
    found = say_json("export", finished, "--to", "json")
    assert found == {"folder": str(finished), "to": "json", "path": "finished.json", "digest": digest(finished)}


def test_nothing_is_written_over(finished, capsys, tmp_path):
    (tmp_path / "finished.json").write_text("mine")
    assert main(["export", str(finished), "--to", "json"]) == 2
    assert capsys.readouterr().err == "parsity: finished.json: there is something already\n"
    assert (tmp_path / "finished.json").read_text() == "mine"


def test_what_was_exported_comes_back(unfinished, say, say_json, tmp_path, capsys):
    say("export", unfinished, "--to", "batch-science", "--output", "out")
    assert main(["import", "out", "--to", "back"]) == 0
    assert capsys.readouterr() == ("back\n", "4 cells, 5 trials; see: parsity table back\n")
    assert digest(tmp_path / "back") == digest(unfinished)
    assert say_json("compare", unfinished, "back")["same"] is True
    assert say_json("import", "out", "--to", "again")["digest"] == digest(unfinished)


def test_what_cannot_be_imported_leaves_nothing_behind(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["import", "empty", "--to", "new"]) == 2
    assert "no study.json" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_what_others_published_can_be_read_like_any_study(tmp_path, say, say_json):
    cell = tmp_path / "theirs" / "mnist" / "cnn" / "sgd" / "64"
    for number, (status, steps, errors) in {
        1: ("COMPLETE", 30, {10: 0.2, 20: 0.01, 30: 0.02}),
        3: ("INFEASIBLE", 10, {10: "nan"}),
    }.items():
        (cell / str(number)).mkdir(parents=True)
        parameters = {"learning_rate": 0.1 * number}
        metadata = {"trial_id": number, "status": status, "steps": steps, "parameters": parameters}
        (cell / str(number) / "metadata.json").write_text(json.dumps(metadata))
        lines = ["step,val/classification_error", *(f"{step},{error}" for step, error in errors.items())]
        (cell / str(number) / "measurements.csv").write_text("\n".join(lines) + "\n")
    facts = {"batch_size": 64, "dataset": "mnist", "model": "cnn", "optimizer": "sgd", "train_steps": 30}
    (cell / "study.json").write_text(json.dumps(facts))
    assert say("import", "theirs", "--to", "new", "--goal", 0.05, "--goal", 0.2) == "new\n"
    status = say_json("status", "new")
    assert status["workload"] == {"data": "mnist", "network": "cnn", "optimiser": "sgd"}
    assert (status["finished"], status["expected"], status["patience"]) == (True, None, "inf")
    assert status["trials"] == {"planned": 3, "measured": 2, "due": 0, "set_aside": 0}
    assert "cnn on mnist, sgd\n" in say("status", "new")
    assert say("table", "new", "--goal", 0.05).splitlines()[1:] == ["batch size   0", "        64  20"]


def test_two_that_measured_the_same(finished, capsys):
    assert main(["compare", str(finished), str(finished)]) == 0
    shown = capsys.readouterr()
    assert shown.err == "the digests are equal: A and B measured the same, trial by trial\n"
    assert [line.split() for line in shown.out.splitlines()[4:]] == [
        ["batch", "size", "sparsity", "goal", "A", "B", "B", "/", "A", "same"],
        ["2", "0", "0.04", "592", "592", "1.00", "yes"],
        ["2", "0.9", "0.04", "1,480", "1,480", "1.00", "yes"],
        ["64", "0", "0.04", "48", "48", "1.00", "yes"],
        ["64", "0.9", "0.04", "-", "-", "yes"],
    ]


def test_two_that_differ(finished, make, tmp_path, capsys, say_json):
    other = make(
        tmp_path / "other",
        {(2, 0.0): {2: {0.04: Complete(1184, 1168)}}, (2, 0.9): {3: {0.04: Complete(1480, 1464)}}},
        batch_sizes=[2, 8],
        sparsities=[0, 0.9],
        patience="inf",
    )
    assert main(["compare", str(finished), str(other)]) == 0
    shown = capsys.readouterr()
    cells, specs = (block.splitlines()[2:] for block in shown.out.split("\n\n")[1:])
    assert [line.split() for line in cells] == [
        ["2", "0", "0.04", "592", "1,184?", "2.00", "no"],
        ["2", "0.9", "0.04", "1,480", "1,480?", "1.00", "another", "trial"],
    ]
    assert "only in A: 2 answers; --json has them\nonly in B: 2 answers;" in shown.err
    assert specs[0].startswith("batch_sizes  2, 64 ")
    assert "? trials of this cell are still due" in shown.err
    assert shown.err.endswith("the digests differ; 0 of 2 common answers are the same\n")
    document = say_json("compare", finished, other)
    assert document["spec"]["patience"]["b"] == "inf"
    assert document["cells"][0]["ratio"] == 2.0
    assert document["same"] is False
