"""The examples do what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from parsity.study import Study, read_spec

EXAMPLES = Path(__file__).parents[1] / "examples"
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("executor", ["serial", "local"])
def test_ones_own_model_through_import_paths(tmp_path, monkeypatch, executor):
    monkeypatch.chdir(EXAMPLES / "own_model")
    spec = read_spec(Path("study.toml"), ["batch_sizes=[64]", "sparsities=[0.0, 0.9]", "trials=3", "goals=[0.3]"])
    study = Study.create(tmp_path / "shapes", spec)
    assert study.run(executor=executor).exit_code == 0
    assert [row.steps_to_result is not None for row in study.table()] == [True, True]
    assert len(study.trials()) == 6


def test_one_cell():
    done = subprocess.run([sys.executable, EXAMPLES / "one_cell.py"], check=True, capture_output=True, text=True)
    assert done.stdout.count("steps, by trial") == 4


def test_the_ten_lines_of_the_readme(tmp_path):
    code = README.read_text().split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 2
