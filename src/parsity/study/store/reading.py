"""Rows as they come out of the file, each checked against its digest before anybody sees what it says.

A row that changed fails its own digest; one that vanished, came twice or moved fails the digest of its cell, or the
counts at the head of the file. Nothing here trusts an index to find all there is.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from parsity.results import EngineChoice
from parsity.storage import MisfitError, joint_digest, row_digest
from parsity.study.store.rows import COLUMNS, Row, signatures


class Head(NamedTuple):
    """How many rows there must be of each table, but for the trials, which their cells count."""

    specs: int = 0
    runs: int = 0
    run_ends: int = 0
    cells: int = 0
    set_asides: int = 0
    choices: int = 0
    paces: int = 0

    def check(self, what: str, found: int) -> None:
        """Refuse fewer, or more, rows than were written."""
        expected = getattr(self, what)
        if found != expected:
            raise MisfitError(f"of {expected} {what.replace('_', ' ')}, {found} are found")


class CellRow(NamedTuple):
    """One row of ``cell``."""

    id: int
    batch_size: int
    sparsity: float
    trials: int
    joint: str


class SpecRow(NamedTuple):
    """One row of ``spec``: what the study asked for since ``stored``."""

    revision: int
    stored: str
    identity: str
    spec: str


class SetAside(NamedTuple):
    """A trial that nobody could finish."""

    batch_size: int
    sparsity: float
    number: int
    reason: str
    attempts: int
    noted: str


def checked(table: str, name: str, row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """The columns of ``row`` before its digest, if that fits."""
    if row is None:
        raise MisfitError(f"{name} is missing")
    if row_digest(table, *row[:-1]) != row[-1]:
        raise MisfitError(f"{name} does not match its digest")
    return row[:-1]


def read_head(connection: sqlite3.Connection) -> Head:
    """The counts."""
    row = connection.execute(f"SELECT {', '.join(Head._fields)}, digest FROM head").fetchone()  # noqa: S608  # constants
    return Head(*checked("head", "the head of the file", row))


def read_specs(connection: sqlite3.Connection) -> list[SpecRow]:
    """Every spec the study has had, the newest last."""
    head = read_head(connection)
    rows = connection.execute("SELECT revision, stored, identity, spec, digest FROM spec ORDER BY revision").fetchall()
    found = [SpecRow(*checked("spec", f"spec {row[0]}", row)) for row in rows]
    head.check("specs", len({row.revision for row in found}))
    return found


def read_cells(connection: sqlite3.Connection) -> dict[tuple[int, float], CellRow]:
    """Every cell of which anything is stored, by batch size and sparsity."""
    head = read_head(connection)
    rows = connection.execute("SELECT id, batch_size, sparsity, trials, joint, digest FROM cell").fetchall()
    found = [CellRow(*checked("cell", f"cell {row[0]}", row)) for row in rows]
    cells = {(row.batch_size, row.sparsity): row for row in found}
    head.check("cells", len(cells))
    return cells


def read_rows(connection: sqlite3.Connection, cell: CellRow) -> list[Row]:
    """All rows of one cell, of every revision, ordered by number and revision."""
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM trial WHERE cell = ? ORDER BY number, revision",  # noqa: S608  # a constant
        (cell.id,),
    ).fetchall()
    return list(map(Row._make, check_rows(cell, rows)))


def check_rows(cell: CellRow, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """Refuse rows that are not exactly those that were stored for ``cell``."""
    for row, signature in zip(rows, signatures(cell.batch_size, cell.sparsity, rows), strict=True):
        if signature != row[-1]:
            raise MisfitError(f"{trial_name(cell, row[0])} does not match its digest")
    if len(rows) != cell.trials or joint_digest(row[-1] for row in rows) != cell.joint:
        raise MisfitError(f"{cell_name(cell)}: {cell.trials} results were stored, and these are not all of them")
    return rows


def read_log(connection: sqlite3.Connection, cell: CellRow, row: Row) -> str | None:
    """The text of a trial's log, where it has one."""
    if row.log is None:
        return None
    found = connection.execute(
        "SELECT entries FROM log WHERE cell = ? AND number = ? AND revision = ?", (cell.id, row.number, row.revision)
    ).fetchone()
    if found is None or row_digest("log", found[0]) != row.log:
        raise MisfitError(f"the log of {trial_name(cell, row.number)} is missing or does not match its digest")
    text: str = found[0]
    return text


def read_provenances(connection: sqlite3.Connection) -> Mapping[int, dict[str, Any]]:
    """What is known of each run: where, with what, when it started, when and how it ended."""
    head = read_head(connection)
    runs: dict[int, dict[str, Any]] = {}
    for row in connection.execute("SELECT id, started, provenance, digest FROM run ORDER BY id").fetchall():
        number, started, provenance = checked("run", f"run {row[0]}", row)
        runs[number] = {**json.loads(provenance), "started": started, "ended": None, "how": None}
    for row in connection.execute("SELECT run, ended, how, digest FROM run_end").fetchall():
        number, ended, how = checked("run_end", f"the end of run {row[0]}", row)
        if number not in runs:
            raise MisfitError(f"run {number} has an end and no beginning")
        runs[number] |= {"ended": ended, "how": how}
    head.check("runs", len(runs))
    head.check("run_ends", sum(run["ended"] is not None for run in runs.values()))
    return runs


def read_set_asides(connection: sqlite3.Connection) -> list[SetAside]:
    """The trials that were set aside and not measured since, in order."""
    cells = {cell.id: cell for cell in read_cells(connection).values()}
    found = []
    query = "SELECT cell, number, reason, attempts, noted, digest FROM set_aside"
    for row in connection.execute(query).fetchall():
        key, number, reason, attempts, noted = checked("set_aside", f"the note on trial {row[1]}", row)
        if key not in cells:
            raise MisfitError(f"a trial of cell {key} was set aside, and there is no such cell")
        found.append(SetAside(cells[key].batch_size, cells[key].sparsity, number, reason, attempts, noted))
    read_head(connection).check("set_asides", len(set(found)))
    return sorted(found)


def read_choices(connection: sqlite3.Connection) -> dict[tuple[int, float], EngineChoice]:
    """The engine of every cell that has one, by batch size and sparsity."""
    keys = {cell.id: key for key, cell in read_cells(connection).items()}
    found = {}
    query = "SELECT cell, engine, how, seconds, images, noted, digest FROM choice"
    for row in connection.execute(query).fetchall():
        cell, engine, how, seconds, images, _ = checked("choice", f"the engine of cell {row[0]}", row)
        if cell not in keys:
            raise MisfitError(f"an engine is chosen for cell {cell}, and there is no such cell")
        found[keys[cell]] = EngineChoice(engine=engine, how=how, seconds=json.loads(seconds), images=images)
    read_head(connection).check("choices", len(found))
    return found


def read_engines(connection: sqlite3.Connection) -> dict[tuple[int, float], EngineChoice]:
    """The same, and of cells without a note the engine that most of their results are of."""
    found = read_choices(connection)
    for key, cell in read_cells(connection).items():
        if key not in found and cell.trials:
            seen = Counter(row.engine for row in newest(read_rows(connection, cell)).values())
            found[key] = EngineChoice(engine=seen.most_common(1)[0][0], how="kept")
    return found


def read_paces(connection: sqlite3.Connection) -> dict[tuple[int, int, int], tuple[int, float, int]]:
    """By cell, trial and revision: how many of its training steps were timed, the seconds of one, and its bytes."""
    found = {}
    for row in connection.execute("SELECT cell, number, revision, steps, seconds, bytes, digest FROM pace").fetchall():
        cell, number, revision, *pace = checked("pace", f"the pace of trial {row[1]} of cell {row[0]}", row)
        found[cell, number, revision] = (pace[0], pace[1], pace[2])
    read_head(connection).check("paces", len(found))
    return found


def newest(rows: Iterable[Row]) -> dict[int, Row]:
    """The row that counts, by trial number."""
    return {row.number: row for row in rows}


def cell_name(cell: CellRow) -> str:
    """What a person calls it."""
    return f"batch size {cell.batch_size}, sparsity {cell.sparsity}"


def trial_name(cell: CellRow, number: int) -> str:
    """What a person calls it."""
    return f"trial {number} of {cell_name(cell)}"
