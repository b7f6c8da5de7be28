"""The results in the repository: whole, and all that is drawn and said of them comes out of the exports alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from parsity.cli import main
from parsity.study import STORE, Study
from parsity.study.exporting import export, import_results
from parsity.study.reading import read_spec

RESULTS = Path(__file__).parents[2] / "results"
EXPORTS = sorted(path.parent for path in RESULTS.glob("*/study.json"))


@pytest.fixture(scope="module", params=EXPORTS, ids=lambda path: path.name)
def both(request, tmp_path_factory) -> tuple[Path, Path]:
    """The folder of an export, and that of the study it was imported to."""
    folder = tmp_path_factory.mktemp("imported") / request.param.name
    folder.mkdir()
    import_results(request.param / "study.json", folder / STORE).close()
    return request.param, folder


def test_there_are_some():
    assert EXPORTS


def test_the_digest_is_the_exports(both):
    source, folder = both
    about = json.loads((source / "study.json").read_text())["about"]
    assert Study.open(folder).digest() == about["digest"]
    assert Study.open(folder).verify() == []


def test_it_is_what_the_study_file_asks_for(both):
    source, folder = both
    asked = read_spec(source / "study.toml")
    assert Study.open(folder).spec.identity == asked.identity


def test_the_tables_are_its_own(both, tmp_path):
    source, folder = both
    with Study.open(folder).store() as store:
        export(store, "csv", tmp_path / "csv")
    for name in ("table.csv", "trials.csv"):
        assert (tmp_path / "csv" / name).read_bytes() == (source / "csv" / name).read_bytes()


def test_the_analysis_is_its_own(both, capsys):
    source, folder = both
    assert main(["analyse", str(folder)]) == 0
    assert capsys.readouterr().out == (source / "analysis.txt").read_text()


def test_the_figures_are_its_own(both, tmp_path, capsys):
    source, folder = both
    assert main(["figures", str(folder), "--format", "png", "--to", str(tmp_path)]) == 0
    drawn, kept = (sorted(path.name for path in where.iterdir()) for where in (tmp_path, source / "figures"))
    assert drawn == kept
    for name in drawn:
        one, other = imread(tmp_path / name), imread(source / "figures" / name)
        assert one.shape == other.shape
        # Another build of the libraries may shade an edge otherwise.
        assert float(np.abs(one - other).mean()) < 0.01
