"""The connection to a file of results: how it is opened, how transactions are made, what SQLite's errors mean here.

Only the writer's connection can change the file. A reader opens it read-only and needs no permission to write, neither
to the file nor to its folder - even when a writer died in the middle of a commit and left a rollback journal behind.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from parsity.errors import BusyError, DamagedError, ParsityError, UsageError

BUSY_SECONDS = 30.0
"""How long to wait for somebody else's lock: commits and reads take milliseconds."""

WHAT_TO_DO = "`parsity verify` lists what is damaged; restore the file from a copy, or move it away and run again"

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_UNWRITABLE = {
    sqlite3.SQLITE_FULL: "there is no room to write",
    sqlite3.SQLITE_READONLY: "it may not be written",
    sqlite3.SQLITE_CANTOPEN: "it, or a journal beside it, cannot be opened for writing",
    sqlite3.SQLITE_PERM: "access is not permitted",
    sqlite3.SQLITE_IOERR: "reading or writing failed (is the disk full?)",
}
# SQLITE_ERROR is a table or column that our fixed statements name and the file lacks.
_DAMAGED = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_INTERNAL,
}


class UnwritableError(ParsityError):
    """The disk is full, or the file or its folder may not be written; what was acknowledged is still there."""


class MisfitError(Exception):
    """A row does not fit its digest, or the rows about it; `guarded` says of which file."""


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Turn SQLite's errors and misfits into Parsity's errors, each one line about ``path``."""
    try:
        yield
    except (MisfitError, UnicodeDecodeError) as error:
        # Python cannot even read what SQLite says of a table whose name is no text any more.
        raise DamagedError(f"{path} is damaged: {one_line(error)}; {WHAT_TO_DO}") from error
    except sqlite3.Error as error:
        # Text that is not UTF-8 comes without a code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _BUSY:
            raise BusyError(f"{path}: another process holds it; try again later") from error
        if code in _UNWRITABLE:
            raise UnwritableError(
                f"{path}: {_UNWRITABLE[code]} ({one_line(error)}); what was stored before is safe"
            ) from error
        if code in _DAMAGED:
            raise DamagedError(f"{path} is damaged: {one_line(error)}; {WHAT_TO_DO}") from error
        raise


def one_line(error: Exception) -> str:
    """What ``error`` says, fit to print: it may quote damaged text."""
    text = " ".join(str(error).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def connect(path: Path, *, writable: bool, what: str = "study") -> sqlite3.Connection:
    """Open the file at ``path``, which must exist; ``what`` it holds."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no {what} here")
    with guarded(path):
        if writable:
            return _open(path, "rw")
        try:
            return _open(path, "ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                raise
        # A writer died while it committed: its journal must be rolled back, and reading alone may not do that.
        with suppress(sqlite3.OperationalError):
            _open(path, "rw").close()
            return _open(path, "ro")
        return _recovered_copy(path)


@contextmanager
def read_transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Hold one consistent state of the file while the block reads."""
    with guarded(path):
        if connection.in_transaction:
            yield
            return
        connection.execute("BEGIN")
        try:
            yield
        finally:
            _roll_back(connection)


@contextmanager
def write_transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All that the block writes is there when it ends, or nothing of it is."""
    with guarded(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise


def _roll_back(connection: sqlite3.Connection) -> None:
    # What cannot be rolled back now is rolled back by whoever opens the file next.
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        connection.execute("PRAGMA foreign_keys=ON")
        if mode == "rw":
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _recovered_copy(path: Path) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        journal = path.with_name(f"{path.name}-journal")
        if journal.exists():
            shutil.copyfile(journal, copy.with_name(journal.name))
        source = _open(copy, "rw")
        try:
            source.backup(memory)
        finally:
            source.close()
    return memory
