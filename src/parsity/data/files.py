"""Files that are read only when whole and right, and written so that a kill at any moment does no harm."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import logging
import zlib
from typing import TYPE_CHECKING

from parsity.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from parsity.data.catalogue import File

logger = logging.getLogger(__name__)


def uncompressed(path: Traversable, *, limit: int, zipped: bool | None = None) -> bytearray:
    """Return the contents of a file or a .gz file, of which no more than ``limit`` + 1 bytes are ever read."""
    with path.open("rb") as raw:
        if not (path.name.endswith(".gz") if zipped is None else zipped):
            return bytearray(raw.read(limit + 1))
        try:
            with gzip.open(raw) as stream:
                return bytearray(stream.read(limit + 1))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedError(f"{path}: not whole gzip data ({error}), expected {limit:,} bytes inside") from error


def verify(file: File, contents: bytes | bytearray, *, at: str) -> None:
    """Raise unless ``contents`` are exactly those of ``file``; ``at`` says where they were found."""
    if len(contents) != file.size:
        found = f"more than {file.size:,}" if len(contents) > file.size else f"cut off at {len(contents):,}"
        raise DamagedError(f"{at}: {found} bytes, expected {file.size:,}")
    digest = hashlib.sha256(contents).hexdigest()
    if digest != file.sha256:
        raise DamagedError(f"{at}: sha256 is {digest[:12]}..., expected {file.sha256[:12]}...")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold ``folder`` against other processes; a killed holder lets go by itself."""
    with (folder / ".lock").open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("%s: another process is fetching; waiting for it", folder.name)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
