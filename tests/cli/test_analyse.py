"""`parsity analyse`: every part from what is stored, alone or together, and as JSON."""

import json

import pytest

from parsity.cli import main
from parsity.results import Complete, Outpaced


@pytest.fixture
def scaled(make, tmp_path):
    """Six trials at five batch sizes: steps of 1024 / B + 16, times 3 where sparse; one trial in three is outpaced."""

    def ends(batch_size: int, sparsity: float) -> dict[int, dict[float, Complete | Outpaced]]:
        best = (1024 // batch_size + 16) * (3 if sparsity else 1)
        found = {n: {0.04: Complete(best + 4 * n, best + 4 * n - 4)} for n in (1, 2, 3, 4)}
        return {**found, 5: {0.04: Outpaced(2 * best)}, 6: {0.04: Outpaced(2 * best)}}

    sizes, sparsities = [4, 16, 64, 256, 1024], [0.0, 0.9]
    cells = {(size, sparsity): ends(size, sparsity) for size in sizes for sparsity in sparsities}
    return make(tmp_path / "scaled", cells, batch_sizes=sizes, sparsities=sparsities, trials=6, patience=2)


def test_all_parts_in_their_order(scaled, capsys):
    assert main(["analyse", str(scaled)]) == 0
    out = capsys.readouterr().out
    titles = ["K* = c1/B + c2", "steps of sparse / 0", "long and wide enough?", "The statements of the paper"]
    assert [out.index(title) for title in titles] == sorted(out.index(title) for title in titles)


def test_the_numbers_are_those_of_the_analysis(scaled, capsys):
    assert main(["analyse", str(scaled), "--json"]) == 0
    curves = json.loads(capsys.readouterr().out)["studies"][0]["curves"]
    assert main(["analyse", str(scaled), "--only", "scaling"]) == 0
    _, headings, *rows = capsys.readouterr().out.splitlines()
    assert headings.split()[:3] == ["sparsity", "c1", "c2"]
    for row, curve in zip(rows, curves, strict=True):
        shown = [float(text.replace(",", "")) for text in row.split()[:4]]
        fit = curve["scaling"]
        expected = [curve["sparsity"], *(fit[name]["value"] for name in ("c1", "c2", "critical_batch"))]
        assert shown == pytest.approx(expected, rel=0.01)


def test_ratios_have_a_row_for_each_batch_size_and_their_mean(scaled, capsys):
    assert main(["analyse", str(scaled), "--only", "ratios"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["4", "16", "64", "256", "1,024", "mean"]
    assert all(2.5 < float(line.split()[1]) < 3.1 for line in lines[2:])


def test_claims_are_all_told(scaled, capsys):
    from parsity.analysis.claims import CLAIMS

    assert main(["analyse", str(scaled), "--only", "claims"]) == 0
    out = capsys.readouterr().out
    assert all(statement in out for statement, _ in CLAIMS.values())


def test_a_study_that_has_nothing_yet(make, tmp_path, capsys):
    empty = make(tmp_path / "empty", {})
    assert main(["analyse", str(empty)]) == 0
    assert "no ratios" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"), [(["--only", "knees"], "--only 'knees': allowed are scaling"), (["--goal", "0.5"], "--goal 0.5")]
)
def test_bad_usage(scaled, capsys, words, told):
    assert main(["analyse", str(scaled), *words]) == 2
    assert told in capsys.readouterr().err
