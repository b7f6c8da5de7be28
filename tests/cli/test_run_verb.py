"""`parsity run` before anything runs: what is mistaken is one line, and leaves nothing behind."""

import os
import subprocess
import sys

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
        (["--passes", "0"], "'0': a whole number from 1 up"),
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


def test_a_dry_run_of_a_network_that_nobody_knows_calls_itself_a_guess(capsys):
    assert main(["run", "digits", "--dry-run", "--set", "workload.network=nets:make"]) == 0
    assert "nothing is known of nets:make yet, so it is taken for simple-cnn" in capsys.readouterr().err
    assert main(["run", "digits", "--dry-run"]) == 0
    assert capsys.readouterr().err == ""


def test_a_folder_that_is_not_there_is_said_to_be_none(capsys, tmp_path):
    assert main(["run", "smal"]) == 2
    assert capsys.readouterr().err.startswith(
        "parsity: smal: there is no such study file or folder here, and as for pre"
    )
    assert list(tmp_path.iterdir()) == []


def test_no_preset_takes_no_time(capsys):
    assert main(["presets"]) == 0
    assert all(not line.endswith(" 0.00") for line in capsys.readouterr().out.splitlines())


def test_a_verb_that_is_none_is_named_with_what_was_meant(capsys):
    assert main(["runn", "digits"]) == 2
    assert "no verb 'runn' (did you mean run?); the verbs are data, presets, new, run" in capsys.readouterr().err


def test_a_folder_that_has_a_presets_name_by_chance(capsys, tmp_path):
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "zero.png").touch()
    assert main(["run", "digits", "--dry-run"]) == 2
    assert "digits: the folder holds something else; name the study's folder with --folder" in capsys.readouterr().err
    assert main(["run", "digits", "--dry-run", "--folder", "study"]) == 0


@pytest.mark.parametrize(
    ("redirection", "code", "line"),
    [
        ("> /dev/full", 1, "parsity: standard output: No space left on device\n"),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("| true", 0, ""),
    ],
)
def test_an_output_that_cannot_be_written_is_no_traceback(redirection, code, line):
    command = f"set -o pipefail; {sys.executable} -m parsity presets {redirection}"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, line)


def test_letters_that_the_terminal_does_not_know_are_escaped():
    command = [sys.executable, "-m", "parsity", "new", "digits", "--set", "name=Übung"]
    told = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=told)
    assert 'name = "\\xdcbung"' in done.stdout


def test_a_name_too_long_for_a_file_is_one_line(capsys):
    assert main(["run", "digits", "--folder", "a" * 300, "--dry-run"]) == 1
    assert capsys.readouterr().err == f"parsity: {'a' * 300}: File name too long\n"


def test_what_uses_its_passes_up_is_said_and_gone_on_with(capsys):
    # One trial whose rate is far too low never gets there: the limit would be the end of it, two hundred passes later.
    words = ["run", "digits", "--folder", "slow", "--executor", "serial", "--set", "batch_sizes=[512]"]
    words += ["--set", "sparsities=[0]", "--set", "trials=1", "--set", "patience=1"]
    words += ["--set", "space.learning_rate={scale='log', low=1e-7, high=2e-7}", "--set", "step_limit=600"]
    assert main([*words, "--passes", "20"]) == 0
    said = capsys.readouterr().err
    assert said.count("left for later: B=512 S=0, nobody at the goal after 58 steps") == 2
    assert "0 of 1 cells measured in slow" in said
    assert main(["run", "slow", "--executor", "serial"]) == 0
    assert "left for later" not in capsys.readouterr().err
    assert main(["table", "slow"]) == 0
    assert "-" in capsys.readouterr().out
