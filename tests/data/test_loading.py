from __future__ import annotations

import gzip
import logging
import pickle
import shutil
import socket
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch

from parsity.data import CATALOGUE, Dataset, check, load, locate
from parsity.errors import DamagedError, UsageError


def test_digits_load_with_no_network_no_cache_and_no_folder(tmp_path, monkeypatch):
    def unreachable(*arguments, **rest):
        raise AssertionError("the network was asked")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, unreachable)
    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    monkeypatch.setenv("PARSITY_DATA_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    data = load("digits")
    assert data.images.shape == (1617, 1, 8, 8)
    assert data.test_images is not None
    assert data.test_images.shape == (180, 1, 8, 8)
    assert data.images.dtype == torch.uint8
    assert data.labels.dtype == torch.int64
    assert int(data.images.max()) == 16 == data.scale
    assert not (tmp_path / "cache").exists()


def test_digits_are_those_of_the_file_in_its_order():
    data = load("digits")
    with np.load(Path(__file__).parents[2] / "src/parsity/data/digits.npz", allow_pickle=False) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    assert np.array_equal(torch.cat([data.images, data.test_images]).numpy()[:, 0], images)
    assert np.array_equal(torch.cat([data.labels, data.test_labels]).numpy(), labels)
    assert data.mean == pytest.approx((images[:1617].astype(float).mean() / 16,), rel=1e-13)
    assert data.std == pytest.approx((images[:1617].astype(float).std() / 16,), rel=1e-13)
    assert data.normalise(data.images).std().item() == pytest.approx(1, abs=1e-3)


def test_digits_come_from_no_folder(tmp_path):
    with pytest.raises(UsageError, match="data set digits: it is carried inside Parsity and read from no folder"):
        load("digits", folder=tmp_path)


def test_the_idx_layout_gives_the_images_in_file_order(toy):
    toy.fill(toy.cache)
    data = load("toy")
    images = np.frombuffer(toy.contents["train-images-idx3-ubyte"][16:], np.uint8).reshape(300, 1, 28, 28)
    assert np.array_equal(data.images.numpy(), images)
    assert data.labels.tolist() == [i % 10 for i in range(300)]
    assert data.test_images is not None
    assert data.test_images.shape == (50, 1, 28, 28)
    assert data.classes == CATALOGUE["mnist"].classes


def test_the_cifar_layout_gives_planes(tmp_path, monkeypatch):
    generator = np.random.default_rng(2)
    records = generator.integers(0, 10, (6, 4, 3073), dtype=np.uint8)
    names = [file.name for file in CATALOGUE["cifar10"].files]
    files = tuple(
        replace(file, size=4 * 3073, sha256=sha256(batch.tobytes()).hexdigest())
        for file, batch in zip(CATALOGUE["cifar10"].files, records, strict=True)
    )
    toy = replace(CATALOGUE["cifar10"], name="toy", images=20, test_images=4, files=files)
    monkeypatch.setitem(CATALOGUE, "toy", toy)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for name, batch in zip(names, records, strict=True):
        (folder / name).write_bytes(batch.tobytes())
    data = load("toy", folder=tmp_path)
    assert data.images.shape == (20, 3, 32, 32)
    assert data.test_labels is not None
    assert data.test_labels.tolist() == records[5, :, 0].tolist()
    assert np.array_equal(data.images[7, 2, 31].numpy(), records[1, 3, 1 + 2 * 1024 + 31 * 32 :][:32])


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("inside", ["Toy/raw", "toy", "."])
def test_a_folder_is_searched_in_the_usual_places_and_named_in_the_log(toy, tmp_path, caplog, inside, zipped):
    caplog.set_level(logging.INFO)
    toy.fill(tmp_path / "theirs" / inside, zipped=zipped)
    assert load("toy", folder=str(tmp_path / "theirs")).images.shape == (300, 1, 28, 28)
    assert caplog.messages == [f"toy: from the folder {(tmp_path / 'theirs' / inside).resolve()}"]


def test_the_environments_folder_comes_before_the_cache_and_a_named_one_before_both(toy, tmp_path, monkeypatch):
    toy.fill(toy.cache)
    assert locate(toy.entry).kind == "cache"
    monkeypatch.setenv("PARSITY_DATA_DIR", str(toy.fill(tmp_path / "environment")))
    assert locate(toy.entry).at == str(tmp_path / "environment")
    named = toy.fill(tmp_path / "named")
    assert locate(toy.entry, named).at == str(named)


def test_an_environments_folder_without_the_data_set_is_passed_over_with_a_line(toy, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    toy.fill(toy.cache)
    monkeypatch.setenv("PARSITY_DATA_DIR", str(tmp_path))
    load("toy")
    assert caplog.messages[0].endswith(
        "holds none of its files; looked for train-images-idx3-ubyte[.gz] there and in Toy/raw "
        "(PARSITY_DATA_DIR); going on to the cache"
    )


def test_a_named_folder_without_the_data_set_is_refused(toy, tmp_path):
    with pytest.raises(UsageError, match="holds none of its files; looked for train-images-idx3-ubyte"):
        load("toy", folder=tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        load("toy", folder=tmp_path / "nowhere")


def test_loose_files_of_another_data_set_are_not_mistaken(toy, tmp_path, monkeypatch):
    folder = toy.fill(tmp_path / "theirs")
    other = replace(
        toy.entry,
        name="other",
        files=tuple(replace(file, sha256="0" * 64) for file in toy.entry.files),
    )
    monkeypatch.setitem(CATALOGUE, "other", other)
    with pytest.raises(UsageError, match=r"data set other: .* holds none of its files"):
        load("other", folder=folder)


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in ("batches.meta", "data_batch_1", "test_batch"):
        (folder / name).write_bytes(pickle.dumps(Trap()))
    for given in (tmp_path, folder):
        with pytest.raises(UsageError, match=r"Python pickles, which are never opened here; give the binary version"):
            load("cifar10", folder=given)
    assert not (tmp_path / "sprung").exists()


def flip(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


DAMAGES = [
    (flip, r"train-images-idx3-ubyte: sha256 is [0-9a-f]{12}..., expected [0-9a-f]{12}...; "),
    (cut, r"train-images-idx3-ubyte: cut off at 235,209 bytes, expected 235,216; "),
    (lengthen, r"train-images-idx3-ubyte: more than 235,216 bytes, expected 235,216; "),
]


@pytest.mark.parametrize(("damage", "line"), DAMAGES)
def test_a_damaged_file_of_the_cache_is_one_line_with_what_to_do(toy, damage, line):
    toy.fill(toy.cache)
    damage(toy.cache / "train-images-idx3-ubyte")
    with pytest.raises(DamagedError, match=line + "`parsity data fetch toy` replaces it") as raised:
        load("toy")
    assert "\n" not in str(raised.value)
    assert [finding.state for finding in check(toy.entry)] == ["damaged", "right", "right", "right"]


@pytest.mark.parametrize(("damage", "line"), DAMAGES)
def test_a_damaged_file_of_a_folder_is_one_line_with_what_to_do(toy, tmp_path, damage, line):
    folder = toy.fill(tmp_path / "theirs")
    damage(folder / "train-images-idx3-ubyte")
    with pytest.raises(DamagedError, match=line + "put a whole copy there, or use another folder"):
        load("toy", folder=folder)


@pytest.mark.parametrize(
    "damage", [cut, lambda path: path.write_bytes(b"not gzip"), lambda path: path.write_bytes(b""), flip]
)
def test_a_damaged_gz_file_is_one_line(toy, tmp_path, damage):
    folder = toy.fill(tmp_path / "theirs", zipped=True)
    damage(folder / "train-images-idx3-ubyte.gz")
    with pytest.raises(DamagedError, match=r"train-images-idx3-ubyte.gz: .*expected .*; put a whole copy") as raised:
        load("toy", folder=folder)
    assert "\n" not in str(raised.value)


def test_a_gz_file_that_unpacks_to_too_much_is_not_unpacked(toy, tmp_path):
    folder = toy.fill(tmp_path / "theirs", zipped=True)
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(50_000_000), 1))
    with pytest.raises(DamagedError, match="more than 235,216 bytes"):
        load("toy", folder=folder)


def test_a_missing_file_of_a_folder_is_one_line_with_what_is_expected(toy, tmp_path):
    folder = toy.fill(tmp_path / "theirs")
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DamagedError, match=r"t10k-labels-idx1-ubyte is missing \(expected 58 bytes, sha256 "):
        load("toy", folder=folder)
    states = {finding.file: finding.state for finding in check(toy.entry, folder=folder)}
    assert states["t10k-labels-idx1-ubyte"] == "missing"


def test_what_the_cache_lacks_is_fetched_by_loading(toy, site, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setitem(CATALOGUE, "toy", site.offer(toy))
    toy.fill(toy.cache)
    (toy.cache / "t10k-labels-idx1-ubyte").unlink()
    load("toy")
    assert [page for page, _ in site.asked] == ["/t10k-labels-idx1-ubyte.gz"]
    shutil.rmtree(toy.cache)
    load("toy")
    assert len(site.asked) == 5
    assert caplog.messages[-1] == f"toy: from the cache {toy.cache}"


def test_the_embedded_file_is_checked_too(monkeypatch):
    entry = CATALOGUE["digits"]
    wrong = replace(entry, files=(replace(entry.files[0], sha256="0" * 64),))
    monkeypatch.setitem(CATALOGUE, "digits", wrong)
    with pytest.raises(DamagedError, match=r"digits.npz: sha256 is b2dab7b50172..., .*; install Parsity again"):
        load("digits")


OWN = """
import torch
from parsity.data import Dataset

images = torch.arange(48, dtype=torch.uint8).reshape(3, 1, 4, 4)

def pair():
    return images, torch.tensor([0, 1, 1])

def four():
    return images, torch.tensor([0, 1, 1]), images[:1], torch.tensor([0])

def whole():
    return Dataset.from_tensors(*pair(), name="theirs")

ready = whole()

def wrong():
    return [1, 2]
"""


def test_a_data_set_of_the_users_own_comes_by_import_path(tmp_path, monkeypatch):
    (tmp_path / "their_data.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    pair = load("their_data:pair")
    assert (pair.name, pair.classes, pair.test_images) == ("their_data:pair", ("0", "1"), None)
    assert load("their_data:four").test_images is not None
    assert load("their_data:whole").name == "theirs"
    assert isinstance(load("their_data:ready"), Dataset)
    with pytest.raises(UsageError, match="data set their_data:wrong: gave a list; allowed are"):
        load("their_data:wrong")
    with pytest.raises(UsageError, match="a folder is for the built-in ones"):
        load("their_data:pair", folder=tmp_path)


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(UsageError, match=r"data: 'mnits' is not known \(did you mean mnist\?\); allowed are cifar10, "):
        load("mnits")


@pytest.mark.network
@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_the_real_data_sets_can_be_had(name, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    data = load(name)
    assert all(finding.state == "right" for finding in check(CATALOGUE[name]))
    mean, std = STATISTICS[name]
    assert data.mean == pytest.approx(mean, abs=5e-7)
    assert data.std == pytest.approx(std, abs=5e-7)
    assert data.labels.bincount().sum() == CATALOGUE[name].images


STATISTICS = {
    "mnist": ((0.13066048,), (0.30810780,)),
    "fashion-mnist": ((0.28604060,), (0.35302424,)),
    "cifar10": ((0.49139968, 0.48215841, 0.44653091), (0.24703223, 0.24348513, 0.26158784)),
}
