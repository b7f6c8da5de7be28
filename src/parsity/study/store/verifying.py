"""Everything that can be checked of a study's file, each fault named on its own."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parsity.errors import DamagedError, ParsityError
from parsity.storage import MisfitError, connect, guarded, one_line, read_transaction
from parsity.study.store import reading
from parsity.study.store.grid import Grid
from parsity.study.store.migrations import migrated_copy
from parsity.study.store.reading import CellRow
from parsity.study.store.rows import COLUMNS, Row, from_row, signatures
from parsity.study.store.schema import LAYOUT


@dataclass(frozen=True)
class Damage:
    """One fault: what is not as it was written."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def verify(path: Path) -> list[Damage]:
    """Check the file at ``path``, even one so damaged that it cannot be opened as a store."""
    try:
        connection = connect(path, writable=False)
        try:
            with guarded(path):
                found = _gather(connection, path, ("pages",))
                if not found and LAYOUT.version_of(connection, path) < LAYOUT.version:
                    connection = migrated_copy(connection, path)
            return found or verify_connection(connection, path)
        finally:
            connection.close()
    except DamagedError as error:
        return [Damage("file", _cause(error))]


def verify_connection(connection: sqlite3.Connection, path: Path) -> list[Damage]:
    """Check all that is there, in one consistent state of it."""
    try:
        with read_transaction(connection, path):
            return _gather(connection, path, tuple(_CHECKS))
    except DamagedError as error:
        return [Damage("file", _cause(error))]


def _gather(connection: sqlite3.Connection, path: Path, wheres: tuple[str, ...]) -> list[Damage]:
    found: list[Damage] = []
    for where in wheres:
        try:
            with guarded(path):
                found.extend(Damage(where, what) for what in _CHECKS[where](connection, path))
        except DamagedError as error:
            found.append(Damage(where, _cause(error)))
    return found


def _cause(error: DamagedError) -> str:
    cause = error.__cause__
    return one_line(cause if isinstance(cause, Exception) else error)


def _pages(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield from line.splitlines()


def _tables(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    LAYOUT.version_of(connection, path)
    LAYOUT.check(connection, path)
    yield from ()


def _references(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"a row of {table!r} refers to one of {parent!r} that is not there"


def _specs(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    older: Grid | None = None
    for row in reading.read_specs(connection):
        try:
            grid = Grid.of(json.loads(row.spec))
            if older:
                grid.check_growth(older)
        except ParsityError as error:
            yield f"spec {row.revision}: {error}"
        else:
            older = grid


def _runs(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    runs = reading.read_provenances(connection)
    if list(runs) != list(range(1, len(runs) + 1)):
        yield f"of the runs, only {', '.join(map(str, runs))} are found"


def _cells(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    reading.read_cells(connection)
    yield from ()


def _trials(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    cells = connection.execute("SELECT id, batch_size, sparsity, trials, joint FROM cell").fetchall()
    runs = {run for (run,) in connection.execute("SELECT id FROM run")}
    for cell in map(CellRow._make, cells):
        query = f"SELECT {COLUMNS} FROM trial WHERE cell = ? ORDER BY number, revision"  # noqa: S608  # a constant
        rows = list(map(Row._make, connection.execute(query, (cell.id,)).fetchall()))
        right = signatures(cell.batch_size, cell.sparsity, rows)
        broken = [row for row, signature in zip(rows, right, strict=True) if signature != row.digest]
        for row in broken:
            yield f"{reading.trial_name(cell, row.number)} does not match its digest"
        if not broken:
            yield from _cell_trials(connection, cell, rows, runs)


def _cell_trials(connection: sqlite3.Connection, cell: CellRow, rows: list[Row], runs: set[int]) -> Iterator[str]:
    try:
        reading.check_rows(cell, rows)
    except MisfitError as error:
        yield str(error)
    revisions: dict[int, int] = {}
    for row in rows:
        name = reading.trial_name(cell, row.number)
        revisions[row.number] = revisions.get(row.number, 0) + 1
        if row.revision != revisions[row.number]:
            yield f"{name}: revision {revisions[row.number]} is missing"
        if row.run not in runs:
            yield f"{name}: the run that measured it, {row.run}, is missing"
        try:
            from_row(row, reading.read_log(connection, cell, row))
        except (MisfitError, DamagedError) as error:
            yield str(error)


def _strays(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    queries = {
        "results belong to no cell": "SELECT count(*) FROM trial WHERE cell NOT IN (SELECT id FROM cell)",
        "logs belong to no result": "SELECT count(*) FROM log WHERE NOT EXISTS (SELECT 1 FROM trial WHERE trial.log"
        " IS NOT NULL AND (trial.cell, trial.number, trial.revision) = (log.cell, log.number, log.revision))",
    }
    for what, query in queries.items():
        (count,) = connection.execute(query).fetchone()
        if count:
            yield f"{count} {what}"


def _choices(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    for (batch_size, sparsity), choice in reading.read_choices(connection).items():
        cell = reading.read_cells(connection)[batch_size, sparsity]
        others = {row.engine for row in reading.read_rows(connection, cell)} - {choice.engine}
        if others and choice.how != "kept":
            others_named = ", ".join(sorted(others))
            yield f"{reading.cell_name(cell)} is to be computed by {choice.engine}, and has results of {others_named}"


def _paces(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    reading.read_paces(connection)
    yield from ()


def _set_asides(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    reading.read_set_asides(connection)
    yield from ()


_CHECKS = {
    "pages": _pages,
    "tables": _tables,
    "references": _references,
    "specs": _specs,
    "runs": _runs,
    "cells": _cells,
    "trials": _trials,
    "strays": _strays,
    "choices": _choices,
    "paces": _paces,
    "set-asides": _set_asides,
}
