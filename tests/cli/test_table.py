import subprocess
import sys

import pytest

from parsity.cli import main
from parsity.results import Complete, TrialResult
from parsity.study import STORE, Store
from parsity.study.exporting import TABLE_COLUMNS


def test_steps_by_batch_size_and_sparsity(finished, say, capsys):
    assert main(["table", str(finished)]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "digits: steps to goal 0.04 by batch size and sparsity\n"
        "batch size    0    0.9\n"
        "         2  592  1,480\n"
        "        64   48      -\n"
    )
    assert shown.err == "- no trial has reached the goal\n"


def test_beside_it_the_ratio_to_dense(finished, say):
    assert say("table", finished, "--ratio").splitlines()[1:] == [
        "batch size    0    0.9  0.9 / 0",
        "         2  592  1,480     2.50",
        "        64   48      -",
    ]


def test_what_may_still_change_is_marked_and_digits_stay_in_line(unfinished, capsys):
    assert main(["table", str(unfinished), "--goal", "0.04", "--ratio"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1:] == [
        "batch size   0     0.9   0.9 / 0",
        "         8  64   1,024?    16.00?",
        "        32   -?    800!",
        "       128    ?       ?",
    ]
    assert [line[0] for line in shown.err.splitlines()] == ["?", "!", "-"]


def test_several_goals_are_blocks(unfinished, say):
    blocks = say("table", unfinished).split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        f"digits: steps to goal {goal} by batch size and sparsity" for goal in ("0.04", "0.1")
    ]
    assert "800" not in blocks[1]
    assert " 32!" in blocks[1]


def test_winners_with_their_metaparameters_and_how_all_ended(finished, say):
    heading, *rows = say("table", finished, "--winners").splitlines()[1:]
    assert heading.split("  ")[-1] == "outcomes"
    assert " ".join(rows[0].split()) == "2 0 592 (576, 592] 2 0.01 0.92 1 complete, 2 outpaced"
    assert " ".join(rows[1].split()) == "2 0.9 1,480 (1,464, 1,480] 1 0.1 0.91 2 complete, 1 infeasible"
    assert rows[3].split() == ["64", "0.9", "-", "3", "infeasible"]
    points = {row.index(".", 40) for row in rows[:3]}
    assert len(points) == 1


@pytest.mark.parametrize(
    ("order", "cells"),
    [
        ("batch-size", [(2, 0.0), (2, 0.9), (64, 0.0), (64, 0.9)]),
        ("sparsity", [(2, 0.0), (64, 0.0), (2, 0.9), (64, 0.9)]),
        ("steps", [(64, 0.0), (2, 0.0), (2, 0.9), (64, 0.9)]),
    ],
)
def test_rows_can_be_sorted(order, cells, finished, say, say_json):
    document = say_json("table", finished, "--sort", order)
    assert [(cell["batch_size"], cell["sparsity"]) for cell in document["cells"]] == cells
    rows = [row.split() for row in say("table", finished, "--winners", "--sort", order).splitlines()[2:]]
    assert [(int(row[0]), float(row[1])) for row in rows] == cells


def test_as_json(unfinished, say_json):
    document = say_json("table", unfinished)
    assert document["goals"] == [0.04, 0.1]
    assert len(document["cells"]) == 12
    cells = {(cell["batch_size"], cell["sparsity"], cell["goal"]): cell for cell in document["cells"]}
    assert cells[8, 0.9, 0.04] == {
        "workload": "digits",
        "batch_size": 8,
        "sparsity": 0.9,
        "goal": 0.04,
        "steps_to_result": 1024,
        "last_miss": 1016,
        "winner": 1,
        "test_error": None,
        "trials": 1,
        "complete": 1,
        "incomplete": 0,
        "infeasible": 0,
        "outpaced": 0,
        "metaparameters": {"learning_rate": 0.1, "momentum": 0.91},
        "ratio": 16.0,
        "planned": 2,
        "due": 1,
        "set_aside": 0,
    }
    columns = [column.name for column in TABLE_COLUMNS]
    assert all(list(cell)[: len(columns)] == columns for cell in document["cells"])
    assert cells[128, 0.0, 0.1]["steps_to_result"] is None
    assert cells[32, 0.9, 0.1]["set_aside"] == 1


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--goal", "0.3"], "--goal 0.3: this study has 0.04"),
        (["--sort", "steps"], "--sort: it orders the rows of --winners; give both"),
    ],
)
def test_what_cannot_be_asked(options, line, finished, capsys):
    assert main(["table", str(finished), *options]) == 2
    assert capsys.readouterr() == ("", f"parsity: {line}\n")


def test_without_a_dense_network_there_is_no_ratio(make, tmp_path, capsys):
    folder = make(
        tmp_path / "sparse", {(8, 0.5): {1: {0.04: Complete(16, 8)}}}, batch_sizes=[8], sparsities=[0.5], trials=1
    )
    assert main(["table", str(folder), "--ratio"]) == 2
    assert "no dense network" in capsys.readouterr().err
    assert main(["table", str(folder)]) == 0


@pytest.fixture
def timed(tmp_path, make):
    """Two batch sizes, dense and sparse; steps of the sparse network take a tenth."""
    folder = make(tmp_path / "timed", {}, batch_sizes=[8, 64], sparsities=[0, 0.9], trials=8, patience="inf")
    with Store.open(folder / STORE, writable=True) as store:
        for batch_size in (8, 64):
            for sparsity, pace, factor in ((0.0, 1e-3, 1), (0.9, 1e-4, 3 if batch_size == 8 else 30)):
                results = []
                for number in range(1, 9):
                    steps = 16 * number * factor
                    results.append(
                        TrialResult(
                            number=number,
                            metaparameters={"learning_rate": 0.1},
                            outcomes={0.04: Complete(steps, steps - 1)},
                            steps=steps,
                            images_looked_at=10,
                            step_seconds=pace * batch_size,
                            timed_steps=steps,
                        )
                    )
                how = {"run": 1, "patience": float("inf"), "goals": [0.04], "test": "certified"}
                store.add(batch_size, sparsity, results, engine="native", **how)
    return folder


def test_seconds_and_where_sparse_overtakes_dense(timed, capsys):
    assert main(["table", str(timed), "--seconds"]) == 0
    shown = capsys.readouterr()
    title, heading, *rows = shown.out.splitlines()
    assert title == "digits: seconds to goal 0.04, K* x seconds of a training step"
    assert " ".join(heading.split()) == "batch size sparsity engine steps a step seconds over dense"
    assert " ".join(rows[0].split()).startswith("8 0 native 16 8 ms 0.128 (")
    assert " ".join(rows[1].split()).startswith("8 0.9 native 48 800 us 0.0384 (")
    assert " 0.30 (0.2" in " ".join(rows[1].split())
    assert " 3.00 (" in " ".join(rows[3].split())
    assert rows[-1] == "sparsity 0.9 overtakes dense at batch size 8; is slower than dense at 64"
    assert "goal tests apart" in shown.err


def test_seconds_as_json(timed, say_json):
    (found,) = say_json("table", timed, "--seconds")["seconds"]
    assert (found["goal"], found["against"]) == (0.04, 0)
    assert [(one["batch_size"], one["sparsity"], one["verdict"]) for one in found["cells"]] == [
        (8, 0, None),
        (8, 0.9, "faster"),
        (64, 0, None),
        (64, 0.9, "slower"),
    ]
    assert found["cells"][1]["seconds"]["value"] == pytest.approx(0.0384)
    assert found["overtaking"][0]["faster"] == [8]


def test_seconds_of_a_study_without_them(finished, capsys):
    assert main(["table", str(finished), "--seconds"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "digits: no step times\n"
    assert "before Parsity kept" in shown.err


def test_seconds_need_no_torch(timed):
    code = f"""
import sys
from parsity.cli import main
assert main(["table", {str(timed)!r}, "--seconds"]) == 0
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
