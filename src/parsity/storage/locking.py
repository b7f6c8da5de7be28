"""One driver at a time: a lock on a file in the folder that its holder's death lets go."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from parsity.errors import BusyError, ParsityError


@contextlib.contextmanager
def driving(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``, a file of its own, or raise `BusyError` that names the process that does."""
    try:
        stream = path.open("a+")
    except OSError as error:
        raise ParsityError(f"{path}: cannot be written: {error.strerror}") from error
    with stream:
        if not _locked(stream):
            stream.seek(0)
            holder = stream.read().strip() or "unknown"
            raise BusyError(f"{path.parent}: another driver is at work here (process {holder})")
        stream.seek(0)
        stream.truncate()
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        yield
        # Emptied and not deleted: a file deleted while somebody waits to lock it would let two drivers in.
        stream.truncate(0)


def _locked(stream: IO[str]) -> bool:
    """Try for a moment: whoever only looks whether somebody is at work holds the lock for that long as well."""
    for patience in (0.005, 0.02, 0.1, None):
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if patience is not None:
                time.sleep(patience)
        else:
            return True
    return False


def driver_of(path: Path) -> int | None:
    """The process that holds the lock at ``path`` now, if any."""
    try:
        with path.open() as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = stream.read().strip()
                return int(text) if text.isdigit() else None
    except OSError:
        pass
    return None
