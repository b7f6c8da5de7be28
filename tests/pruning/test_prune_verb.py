"""``parsity prune``, from the command line to its output, on the embedded digits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from parsity.cli import main
from parsity.pruning import Mask, cut_off_layers, prune
from parsity.training import derived_seed, scoring_batches, workload


def _json(capsys, *arguments: str) -> dict:
    assert main(["prune", "digits", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_says_what_is_left_of_each_tensor(capsys):
    assert main(["prune", "digits", "--sparsity", "0.9", "--criterion", "snip"]) == 0

    output = capsys.readouterr()
    heading, columns, *rows = output.out.splitlines()
    mask = _expected(0.9)
    assert f"{mask.kept:,} of 18,346 kept, mask {mask.digest[:12]}" in heading
    assert columns.split() == ["tensor", "shape", "parameters", "kept", "density"]
    for row, expected in zip(rows, mask.report(), strict=False):
        assert row.split()[0] == expected.name
        assert row.split()[-3:] == [f"{expected.parameters:,}", f"{expected.kept:,}", f"{expected.density:.4f}"]
    assert rows[-1].split() == ["all", "18,346", "1,835", "0.1000"]
    assert output.err == ""


def _expected(sparsity: float, *, criterion: str = "snip", seed: int = 0, trial: int = 1) -> Mask:
    chosen = workload("digits")
    return prune(
        chosen.make_network(derived_seed(seed, "weights", trial)),
        scoring_batches(chosen.load_data()),
        sparsity=sparsity,
        criterion=criterion,
        seed=derived_seed(seed, "pruning", trial),
    )


def test_json_has_every_sparsity_and_every_number(capsys):
    document = _json(capsys, "--sparsity", "0.5,0.9,0.5")

    assert [mask["sparsity"] for mask in document["masks"]] == [0.5, 0.9]
    assert document["criterion"] == "snip"
    for described in document["masks"]:
        mask = _expected(described["sparsity"])
        assert described["digest"] == mask.digest
        assert described["kept"] == mask.kept == sum(row["kept"] for row in described["tensors"])
        assert [row["name"] for row in described["tensors"]] == list(mask.names)
        assert described["cut_off_layers"] == []
        assert described["file"] is None


def test_seed_and_trial_choose_the_weights_and_the_draw(capsys):
    def digest(*arguments: str) -> str:
        return _json(capsys, "--criterion", "random", *arguments)["masks"][0]["digest"]

    assert digest() == _expected(0.9, criterion="random").digest
    assert digest("--trial", "3") == _expected(0.9, criterion="random", trial=3).digest
    assert digest("--seed", "7") == _expected(0.9, criterion="random", seed=7).digest
    assert len({digest(), digest("--trial", "3"), digest("--seed", "7")}) == 3


def test_weights_alone_leaves_the_biases_whole(capsys):
    (mask,) = _json(capsys, "--criterion", "magnitude", "--eligible", "weights")["masks"]

    assert [row["density"] for row in mask["tensors"] if row["name"].endswith("bias")] == [1, 1, 1]


def test_masks_are_saved_under_the_name_given(capsys, tmp_path):
    document = _json(capsys, "--save", str(tmp_path / "one.mask"))
    assert Mask.load(tmp_path / "one.mask").digest == document["masks"][0]["digest"]

    document = _json(capsys, "--sparsity", "0.5,0.9", "--save", str(tmp_path / "both.mask"))
    for mask in document["masks"]:
        assert mask["file"] == str(tmp_path / f"both-{mask['sparsity']}.mask")
        assert Mask.load(mask["file"]).digest == mask["digest"]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_figure_is_drawn_twice_the_same(capsys, tmp_path, name, start):
    drawn = []
    for _ in range(2):
        assert main(["prune", "digits", "--sparsity", "0.5,0.98", "--draw", str(tmp_path / name)]) == 0
        drawn.append((tmp_path / name).read_bytes())

    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(start)


def test_a_layer_that_is_cut_off_is_named_and_marked(capsys, caplog):
    arguments = ["prune", "digits", "--criterion", "magnitude", "--sparsity", "0.99"]
    assert main(arguments) == 0

    output = capsys.readouterr().out
    chosen = workload("digits")
    layers = cut_off_layers(
        chosen.make_network(derived_seed(0, "weights", 1)),
        _expected(0.99, criterion="magnitude"),
        scoring_batches(chosen.load_data()).dataset.images[0],
    )
    assert layers == ("conv1", "conv2", "linear")
    for layer in layers:
        assert f"layer {layer} is cut off" in caplog.text
        assert all("cut off" in line for line in output.splitlines() if line.startswith(layer))
    assert "cut off" not in output.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sparsity", "1"], "--sparsity 1: it must be at least 0 and below 1"),
        (["--sparsity", "0.5,-0.1"], "--sparsity -0.1"),
        (["--sparsity", "nan"], "--sparsity nan"),
        (["--sparsity", "most"], "--sparsity 'most': give one number"),
        (["--criterion", "snap"], "did you mean snip"),
        (["--trial", "0"], "counted from 1"),
        (["--draw", "figure.jpg"], "must end in .png or .svg"),
        (["--save", "no such folder/mask"], "cannot be written"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(capsys, arguments, message):
    assert main(["prune", "digits", *arguments]) == (1 if message == "cannot be written" else 2)

    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert output.err.count("\n") == 1


def test_help_does_not_wait_for_torch():
    program = (
        "import sys; from parsity.cli import main\n"
        "try: main(['prune', '--help'])\n"
        "except SystemExit: sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert found.returncode == 0, found.stderr
    assert "--sparsity" in found.stdout
