"""A file's tables: how they are made, and how a file is recognised as one of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parsity.errors import DamagedError, ParsityError
from parsity.storage.connection import WHAT_TO_DO


@dataclass(frozen=True)
class Layout:
    """The tables of one kind of file, of its newest version; ``what`` is what people call such a file."""

    what: str
    application_id: int
    version: int
    tables: str

    def create(self, connection: sqlite3.Connection) -> None:
        """Make the tables; the caller has begun a transaction."""
        self.create_tables(connection)
        # Says whose file this is, and of what version.
        connection.execute(f"PRAGMA application_id={self.application_id}")
        connection.execute(f"PRAGMA user_version={self.version}")

    def create_tables(self, connection: sqlite3.Connection, names: Collection[str] | None = None) -> None:
        """Make those of ``names``, or all: a migration makes the ones that are new."""
        for statement in self.tables.split(";\n"):
            if statement.strip() and (names is None or statement.split()[2] in names):
                connection.execute(statement)

    def version_of(self, connection: sqlite3.Connection, path: Path) -> int:
        """The version of the tables in a file, once it is known to be of this kind."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if application != self.application_id:
            raise DamagedError(f"{path} is no Parsity {self.what}, or its beginning is damaged; {WHAT_TO_DO}")
        if not 0 <= found <= self.version:
            raise ParsityError(
                f"{path}: its tables are of version {found}, and this Parsity knows up to {self.version}: "
                "a newer Parsity wrote it, or its beginning is damaged"
            )
        return int(found)

    def check(self, connection: sqlite3.Connection, path: Path) -> None:
        """Refuse a file whose tables are not exactly those of this version."""
        found = dict(_tables(connection))
        for name, sql in self._expected.items():
            if found.get(name) != sql:
                raise DamagedError(f"{path} is damaged: table {name!r} is not as it was made; {WHAT_TO_DO}")
        strange = sorted(set(found) - set(self._expected))
        if strange:
            raise DamagedError(
                f"{path} is damaged: it has a table {strange[0]!r} that no {self.what} has; {WHAT_TO_DO}"
            )

    @cached_property
    def _expected(self) -> dict[str, str | None]:
        connection = sqlite3.connect(":memory:")
        try:
            self.create(connection)
            return dict(_tables(connection))
        finally:
            connection.close()


def _tables(connection: sqlite3.Connection) -> list[tuple[str, str | None]]:
    return connection.execute(
        "SELECT type || ' ' || name || ' of ' || tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'"
    ).fetchall()
