import pytest

from parsity.cli import main


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()[1:]]


def test_one_line_for_each_trial_and_goal(unfinished, say, capsys):
    found = rows(say("trials", unfinished))
    assert len(found) == 10
    assert found[0] == ["8", "0", "1", "0.04", "complete", "64*", "56", "0.1", "0.91", "0.50"]
    assert found[6] == ["32", "0", "2", "0.04", "incomplete", "1,600", "0.01", "0.92", "0.50"]


def test_of_one_cell_goal_and_status(unfinished, finished, say, say_json):
    assert len(rows(say("trials", unfinished, "--batch-size", 8))) == 6
    assert len(rows(say("trials", unfinished, "--batch-size", 8, "--sparsity", 0.9))) == 2
    assert len(rows(say("trials", unfinished, "--goal", 0.1))) == 5
    diverged = say_json("trials", finished, "--status", "infeasible")
    assert [(row["batch_size"], row["trial"], row["step"]) for row in diverged] == [
        (2, 2, 7),
        (64, 1, 1),
        (64, 2, 2),
        (64, 3, 3),
    ]
    assert {row["status"] for row in diverged} == {"infeasible"}


def test_json_has_the_columns_of_an_export(unfinished, say_json):
    from parsity.study.exporting import TRIAL_COLUMNS

    found = say_json("trials", unfinished)
    assert list(found[0]) == [column.name for column in TRIAL_COLUMNS]
    assert {row["patience"] for row in found} == {"inf"}


def test_nothing_to_list_is_said_on_standard_error(unfinished, make, tmp_path, capsys, say_json):
    assert main(["trials", str(unfinished), "--status", "infeasible"]) == 0
    assert capsys.readouterr() == ("", "no trial has ended so\n")
    assert main(["trials", str(make(tmp_path / "new", {}))]) == 0
    assert capsys.readouterr() == ("", "no trial is measured yet\n")
    assert say_json("trials", tmp_path / "new") == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--batch-size", "9"], "--batch-size 9: this study has 2, 64"),
        (["--sparsity", "0.95"], "--sparsity 0.95: this study has 0, 0.9"),
        (["--goal", "0.041"], "--goal 0.041: this study has 0.04"),
    ],
)
def test_what_the_study_does_not_have(options, line, finished, capsys):
    assert main(["trials", str(finished), *options]) == 2
    assert capsys.readouterr() == ("", f"parsity: {line}\n")
