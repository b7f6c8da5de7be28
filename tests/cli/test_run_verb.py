"""`parsity run` before anything runs: what is mistaken is one line, and leaves nothing behind."""

import pytest

from parsity.cli import main


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--workers", "0"], "'0': a whole number from 1 to 1,024"),
        (["--workers", "-1"], "'-1': a whole number from 1 to 1,024"),
        (["--workers", "two"], "'two': a whole number from 1 to 1,024"),
        (["--workers", "99999999"], "'99999999': a whole number from 1 to 1,024"),
        (["--executor", "serial", "--workers", "2"], "--workers 2: the serial executor has one"),
        (["--data-dir", "nowhere"], "--data-dir nowhere: there is no such folder"),
        (["--set", "trials=0"], "trials: too small (found 0)"),
        (["--scale", "paper"], "it has no scale 'paper'; allowed: desk"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_what_is_mistaken_is_one_line_and_leaves_nothing(words, line, more, capsys, tmp_path):
    try:
        code = main(["run", "digits", *words, *more])
    except SystemExit as leaving:  # argparse's way
        code = leaving.code
    assert code == 2
    assert line in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_counts_the_workers_there_would_be(capsys, tmp_path):
    totals = []
    for words in (["--workers", "1"], ["--workers", "4"], ["--executor", "serial"]):
        assert main(["run", "digits", "--dry-run", *words]) == 0
        totals.append(capsys.readouterr().out.splitlines()[-1])
    assert totals[0] == totals[2]
    assert totals[0].endswith(" with 1 worker")
    assert totals[1].endswith(" with 4 workers")
    assert list(tmp_path.iterdir()) == []


def test_a_verb_that_is_none_is_named_with_what_was_meant(capsys):
    assert main(["runn", "digits"]) == 2
    assert "no verb 'runn' (did you mean run?); the verbs are data, presets, new, run" in capsys.readouterr().err
