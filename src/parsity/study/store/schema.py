"""The tables, and how a file is recognised as a study's.

``spec`` and ``run`` only ever grow. ``trial`` holds what was measured: a row never changes; a trial that was run again,
because the study has grown, is a further row of a higher revision. Against rows that vanish, each ``cell`` carries the
number and joint digest of its trials' rows, and ``head`` how many rows the other tables have.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path

from parsity.errors import DamagedError, ParsityError
from parsity.study.store.connection import WHAT_TO_DO

APPLICATION_ID = 0x50727379  # "Prsy"
VERSION = 1

TABLES = """
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    specs INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    run_ends INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    set_asides INTEGER NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE spec (
    revision INTEGER PRIMARY KEY,
    stored TEXT NOT NULL,
    identity TEXT NOT NULL,
    spec TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL,
    provenance TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE run_end (
    run INTEGER PRIMARY KEY REFERENCES run (id),
    ended TEXT NOT NULL,
    how TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    batch_size INTEGER NOT NULL CHECK (batch_size >= 1),
    sparsity REAL NOT NULL CHECK (sparsity >= 0 AND sparsity < 1),
    trials INTEGER NOT NULL,
    joint TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (batch_size, sparsity)
) STRICT;
CREATE TABLE trial (
    cell INTEGER NOT NULL REFERENCES cell (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    run INTEGER NOT NULL REFERENCES run (id),
    patience REAL NOT NULL,
    engine TEXT NOT NULL,
    test TEXT NOT NULL,
    steps INTEGER NOT NULL,
    images_looked_at INTEGER NOT NULL,
    seconds REAL NOT NULL,
    metaparameters TEXT NOT NULL,
    outcomes TEXT NOT NULL,
    mask TEXT,
    log TEXT,
    digest TEXT NOT NULL,
    PRIMARY KEY (cell, number, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
    cell INTEGER NOT NULL,
    number INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    entries TEXT NOT NULL,
    PRIMARY KEY (cell, number, revision),
    FOREIGN KEY (cell, number, revision) REFERENCES trial (cell, number, revision)
) STRICT;
CREATE TABLE set_aside (
    cell INTEGER NOT NULL REFERENCES cell (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    noted TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (cell, number)
) STRICT, WITHOUT ROWID;
"""


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of this version; the caller has begun a transaction."""
    for statement in TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    stamp(connection)


def stamp(connection: sqlite3.Connection) -> None:
    """Say whose file this is, and of what version."""
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={VERSION}")


def version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables in a file, once it is known to be a study's."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise DamagedError(f"{path} is no Parsity study, or its beginning is damaged; {WHAT_TO_DO}")
    if not 0 <= found <= VERSION:
        raise ParsityError(
            f"{path}: its tables are of version {found}, and this Parsity knows up to {VERSION}: "
            "a newer Parsity wrote it, or its beginning is damaged"
        )
    return int(found)


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose tables are not exactly those of this version."""
    found = dict(_tables(connection))
    for name, sql in _expected().items():
        if found.get(name) != sql:
            raise DamagedError(f"{path} is damaged: table {name!r} is not as it was made; {WHAT_TO_DO}")
    strange = sorted(set(found) - set(_expected()))
    if strange:
        raise DamagedError(f"{path} is damaged: it has a table {strange[0]!r} that no study has; {WHAT_TO_DO}")


@cache
def _expected() -> dict[str, str | None]:
    connection = sqlite3.connect(":memory:")
    try:
        create_tables(connection)
        return dict(_tables(connection))
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> list[tuple[str, str | None]]:
    return connection.execute(
        "SELECT type || ' ' || name || ' of ' || tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'"
    ).fetchall()
