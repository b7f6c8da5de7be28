"""What every verb says that is given the wrong folder, a damaged study, or one that is held by somebody else."""

import subprocess
import sys
from pathlib import Path

import pytest

from parsity.cli import main
from parsity.study import STORE

READING = [["status"], ["table"], ["trials"], ["verify"], ["export", "--to", "json"], ["compare"]]


def called(verb: list[str], folder: Path) -> list[str]:
    name, *options = verb
    return [name, str(folder), *([str(folder)] if name == "compare" else []), *options]


@pytest.mark.parametrize("verb", READING, ids=lambda verb: verb[0])
def test_where_there_is_no_study_one_line_says_what_there_is(verb, finished, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    full = tmp_path / "full"
    for name in ("b.txt", "a.txt", "c.txt", "e.txt", "d.txt"):
        (full / name).mkdir(parents=True)
    for folder, line in {
        tmp_path / ("long" * 99): "cannot be read (File name too long)",
        tmp_path / "nowhere": "there is no such folder; `parsity run` makes a study",
        empty: "there is no study here, nor anything else; `parsity run` makes one",
        full: "there is no study here, but a.txt, b.txt, c.txt, d.txt and 1 more; `parsity run` makes one",
        tmp_path: "there is no study here, but in finished below it; `parsity run` makes one",
        finished / STORE: f"this is a file; give its folder, {finished}",
    }.items():
        assert main(called(verb, folder)) == 2
        assert capsys.readouterr() == ("", f"parsity: {folder}: {line}\n")


@pytest.mark.parametrize("verb", READING, ids=lambda verb: verb[0])
def test_a_damaged_study_is_never_shown(verb, damaged, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(called(verb, damaged)) == 4
    shown = capsys.readouterr()
    assert "trial 2 of batch size 2, sparsity 0.0 does not match its digest" in shown.out + shown.err
    assert "592" not in shown.out
    assert not (tmp_path / "finished.json").exists()


def test_no_verb_needs_torch(finished, tmp_path):
    lines = [called(verb, finished) for verb in READING]
    lines += [["export", str(finished), "--to", "batch-science"], ["import", "finished-batch-science", "--to", "back"]]
    script = f"""
import sys
from parsity.cli import main
for words in {lines!r}:
    assert main(words) == 0, words
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", ["status", "table", "trials", "verify", "export", "import", "compare"])
def test_each_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: parsity {verb} ")
