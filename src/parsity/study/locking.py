"""One driver at a time: a lock on the study's folder that its holder's death lets go."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from parsity.errors import BusyError, ParsityError


@contextlib.contextmanager
def driving(folder: Path) -> Iterator[None]:
    """Be the only driver of the study in ``folder``, or raise `BusyError` that names the one there is."""
    path = folder / "driver.pid"
    try:
        stream = path.open("a+")
    except OSError as error:
        raise ParsityError(f"{path}: cannot be written: {error.strerror}") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read().strip() or "unknown"
            raise BusyError(f"{folder}: another driver is at work on this study (process {holder})") from None
        stream.seek(0)
        stream.truncate()
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        yield
        # Emptied and not deleted: a file deleted while somebody waits to lock it would let two drivers in.
        stream.truncate(0)


def driver_of(folder: Path) -> int | None:
    """The process that drives the study now, if any."""
    try:
        with (folder / "driver.pid").open() as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = stream.read().strip()
                return int(text) if text.isdigit() else None
    except OSError:
        pass
    return None
