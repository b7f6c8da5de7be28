"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from parsity.errors import ParsityError


def write_whole(path: Path, data: bytes | bytearray, *, work: Path | None = None) -> None:
    """Write ``data`` to ``path`` so that a crash leaves the old file or the new one, never a part.

    ``work`` is a folder on the same file system where a kill may leave half a file; by default the file's own.
    """
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=work or path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # mkstemp lets nobody else read; a result is an ordinary file.
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise ParsityError(f"{path}: cannot be written: {error.strerror}") from error


def _umask() -> int:
    # The only portable way to read it is to set it.
    current = os.umask(0o077)
    os.umask(current)
    return current
