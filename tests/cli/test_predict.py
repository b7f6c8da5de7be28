"""`parsity predict`: a forecast from what is stored, and held against what is stored."""

import json

import pytest

from parsity.cli import main
from parsity.results import Complete, LipschitzPoint, NoisePoint
from parsity.smoothness import STORE, SmoothnessSpec, SmoothnessStore

SIZES = [4, 16, 64, 256, 1024]


def steps(batch_size: int, sparsity: float) -> int:
    """Steps in which c1 triples and c2 doubles where sparse."""
    return (3 * 4096 // batch_size + 64) if sparsity else (4096 // batch_size + 32)


@pytest.fixture
def study(make, tmp_path):
    cells = {
        (size, sparsity): {1: {0.04: Complete(steps(size, sparsity), steps(size, sparsity) - 1)}}
        for size in SIZES
        for sparsity in (0.0, 0.9)
    }
    return make(tmp_path / "known", cells, batch_sizes=SIZES, sparsities=[0.0, 0.9], trials=1)


def measure_constants(folder, network="digits-cnn"):
    """Constants whose ratios are 1, 0.5 and 4."""
    folder.mkdir(exist_ok=True)
    spec = SmoothnessSpec(name="known", data="digits", network=network, sparsities=(0, 0.9), steps=600, interval=100)
    with SmoothnessStore.create(folder / STORE, spec) as store:
        for sparsity, lipschitz, beta in ((0.0, 1.0, 200.0), (0.9, 4.0, 100.0)):
            noise = NoisePoint(
                step=0, beta=beta, low=beta, high=beta, images=9, of_images=9, gradient_squared=1.0, loss=2.3
            )
            store.add(sparsity, noise, run=1, seconds=1)
            for step in range(0, 600, 100):
                point = LipschitzPoint(
                    step=step,
                    ratios={1.0: lipschitz},
                    distance=1,
                    gradient_norm=1,
                    training_loss=2.3,
                    training_error=0.9,
                )
                store.add(sparsity, point, run=1, seconds=1)
    return folder


def document(capsys, *words):
    assert main(["predict", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["forecasts"][0]


def test_told_from_two_cells_and_held_against_the_rest(study, capsys):
    found = document(capsys, study, "--sparsity", 0.9, "--from", "4,1024")
    assert {p["batch_size"]: p["used"] for p in found["points"] if p["used"]} == {4: 3136, 1024: 76}
    for point in found["points"]:
        truth = steps(point["batch_size"], 0.9)
        assert point["steps"]["value"] == pytest.approx(truth, rel=0.05)
        assert point["truth"] == (None if point["used"] else truth)
    assert found["typically_off"] < 0.1
    assert main(["predict", str(study), "--sparsity", "0.9", "--from", "4,1024"]) == 0
    out = capsys.readouterr().out
    assert "steps at sparsity 0.9, told from the curve of 0 and its cells at batch sizes 4, 1,024" in out
    assert "held against 3 measured cells: 3 within their intervals" in out


def test_without_a_choice_every_cell_serves(study, capsys):
    found = document(capsys, study, "--sparsity", 0.9)
    assert [point["used"] for point in found["points"]] == [steps(size, 0.9) for size in SIZES]
    assert found["typically_off"] is None


def test_a_sparsity_nobody_measured_from_constants_in_the_studys_folder(study, capsys):
    measure_constants(study)
    found = document(capsys, study, "--sparsity", 0.9, "--from", "none", "--batch-sizes", "8,512")
    assert [point["batch_size"] for point in found["points"]] == [4, 8, 16, 64, 256, 512, 1024]
    assert 1.5 < found["c1_ratio"]["value"] < 2.5 < found["c2_ratio"]["value"] < 4
    assert main(["predict", str(study), "--sparsity", "0.9", "--from", "none"]) == 0
    out = capsys.readouterr().out
    assert "the theory says c1 2 times: Delta 1.00 x beta 0.50 x L 4.00" in out
    assert "no cell of this sparsity was used" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sparsity", "0"], "that is the curve others are told from"),
        (["--sparsity", "1"], "at least 0 and below 1"),
        (["--sparsity", "0.5"], "measure one or two of its cells"),
        (["--sparsity", "0.9", "--from", "8"], "those that have: 4, 16, 64, 256, 1,024"),
        (["--sparsity", "0.9", "--from", "x"], "between commas, like 16,1024"),
        (["--sparsity", "0.9", "--goal", "0.5"], "has 0.04"),
        (["--sparsity", "0.9", "--smoothness", "."], "there is no smoothness.sqlite here"),
    ],
)
def test_mistakes_are_one_line_each(study, capsys, monkeypatch, words, message):
    monkeypatch.chdir(study.parent)
    assert main(["predict", str(study), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_constants_of_another_network_or_another_sparsity_are_refused(study, tmp_path, capsys):
    other = measure_constants(tmp_path / "other", network="simple-cnn")
    assert main(["predict", str(study), "--sparsity", "0.9", "--smoothness", str(other)]) == 2
    assert "it is of digits and simple-cnn" in capsys.readouterr().err
    same = measure_constants(tmp_path / "same")
    assert main(["predict", str(study), "--sparsity", "0.5", "--smoothness", str(same)]) == 2
    assert "measured are 0, 0.9" in capsys.readouterr().err


def test_a_curve_of_too_few_cells_cannot_be_told_from(make, tmp_path, capsys):
    cells = {(size, s): {1: {0.04: Complete(20, 16)}} for size in (4, 8) for s in (0.0, 0.9)}
    folder = make(tmp_path / "short", cells, batch_sizes=[4, 8], sparsities=[0.0, 0.9], trials=1)
    assert main(["predict", str(folder), "--sparsity", "0.9"]) == 2
    assert "fewer than three cells" in capsys.readouterr().err
