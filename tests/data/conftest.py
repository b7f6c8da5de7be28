"""A toy data set, a server on the loopback and stub package clients, so that no test needs a network."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from parsity.data import CATALOGUE, Entry, File

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch) -> None:
    """An empty cache of our own, no folder named, no package clients: nothing of this machine's shines through."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PARSITY_DATA_DIR", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)


def file_of(name: str, contents: bytes) -> File:
    return File(name=name, size=len(contents), sha256=hashlib.sha256(contents).hexdigest())


@dataclass
class Toy:
    """A small data set in the idx layout, its bytes, and where it would be cached."""

    entry: Entry
    contents: dict[str, bytes]
    cache: Path

    def fill(self, folder: Path, *, zipped: bool = False) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, contents in self.contents.items():
            if zipped:
                (folder / f"{name}.gz").write_bytes(gzip.compress(contents, 1))
            else:
                (folder / name).write_bytes(contents)
        return folder

    def cached(self) -> dict[str, bytes]:
        """Everything in the cache's folder but the lock: nothing may be left lying there."""
        return {path.name: path.read_bytes() for path in self.cache.iterdir() if path.name != ".lock"}

    def cached_files(self) -> dict[str, bytes]:
        """What the cache would be read for."""
        return {path.name: path.read_bytes() for path in self.cache.glob("*-ubyte")}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch) -> Toy:
    generator = np.random.default_rng(5)
    contents = {}
    for prefix, count in (("train", 300), ("t10k", 50)):
        images = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = (np.arange(count) % 10).astype(np.uint8)
        header = b"\0\0\x08"
        contents[f"{prefix}-images-idx3-ubyte"] = (
            header + b"\3" + np.array([count, 28, 28], ">i4").tobytes() + images.tobytes()
        )
        contents[f"{prefix}-labels-idx1-ubyte"] = header + b"\1" + np.array([count], ">i4").tobytes() + labels.tobytes()
    entry = replace(
        CATALOGUE["mnist"],
        name="toy",
        title="Toy",
        images=300,
        test_images=50,
        files=tuple(file_of(name, data) for name, data in contents.items()),
        folders=("Toy/raw",),
        addresses=("http://127.0.0.1:9/train-images-idx3-ubyte.gz",),
        package=None,
    )
    monkeypatch.setitem(CATALOGUE, "toy", entry)
    return Toy(entry, contents, tmp_path / "cache" / "parsity" / "data" / "toy")


@dataclass
class Site:
    """What a server on the loopback offers, how it misbehaves, and what it was asked for."""

    address: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True  # honours Range requests
    cut_at: int | None = None  # closes the connection after so many bytes of the page's body
    cuts: int = 0  # how many answers are to be cut
    stall_at: int | None = None  # stops there until `go_on` is set
    go_on: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def offer(self, toy: Toy) -> Entry:
        for name, contents in toy.contents.items():
            self.pages[f"/{name}.gz"] = gzip.compress(contents, 1, mtime=0)
        return replace(toy.entry, addresses=tuple(f"{self.address}/{name}.gz" for name in toy.contents))


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            site.asked.append((self.path, wanted))
            page = site.pages.get(self.path)
            if page is None:
                self.send_error(404)
                return
            first = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and site.ranges else 0
            if first and first >= len(page):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(page)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if first else 200)
            if first:
                self.send_header("Content-Range", f"bytes {first}-{len(page) - 1}/{len(page)}")
            self.send_header("Content-Length", str(len(page) - first))
            self.end_headers()
            if site.cut_at is not None and site.cuts > 0 and first < site.cut_at < len(page):
                site.cuts -= 1
                self.wfile.write(page[first : site.cut_at])
                return
            if site.stall_at is not None and first < site.stall_at < len(page):
                self.wfile.write(page[first : site.stall_at])
                self.wfile.flush()
                first = site.stall_at
                site.go_on.wait(30)
            try:
                self.wfile.write(page[first:])
            except (BrokenPipeError, ConnectionResetError):
                return  # the client was killed, on purpose

        def log_message(self, *arguments: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        site.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield site
        site.go_on.set()
        server.shutdown()
        thread.join()


def client(folder: Path, name: str, script: str) -> None:
    """Put a stub package client on the PATH; it notes how it was called."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "$@" >> {folder}/{name}.log\n{script}\n')
    path.chmod(0o755)


@pytest.fixture
def npm(tmp_path: Path) -> Callable[..., Path]:
    """Install a stub npm whose `pack` leaves an archive of these members; returns its log of calls."""

    def install(members: dict[str, bytes], *, script: str = "") -> Path:
        with tarfile.open(tmp_path / "package.tgz", "w:gz", compresslevel=1) as archive:
            for name, contents in members.items():
                member = tarfile.TarInfo(f"package/{name}")
                member.size = len(contents)
                archive.addfile(member, io.BytesIO(contents))
        client(tmp_path / "bin", "npm", script or f"cp {tmp_path}/package.tgz ./toy-1.0.0.tgz")
        return tmp_path / "bin" / "npm.log"

    return install


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Entry], subprocess.Popen[str]]]:
    """Fetch an entry in another process."""
    running = []

    def begin(entry: Entry) -> subprocess.Popen[str]:
        described = entry.__dict__ | {
            "files": [file.__dict__ for file in entry.files],
            "package": entry.package.__dict__ if entry.package else None,
        }
        process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("fetcher.py"), json.dumps(described)],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()
