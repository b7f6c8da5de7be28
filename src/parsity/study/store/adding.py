"""Everything that is written, each function inside a transaction of the caller's."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping, Sequence

from parsity.errors import ParsityError, UsageError
from parsity.results import EngineChoice, TrialResult
from parsity.storage import canonical, joint_digest, row_digest
from parsity.study.store.grid import Grid
from parsity.study.store.reading import (
    CellRow,
    Head,
    cell_name,
    newest,
    read_cells,
    read_choices,
    read_head,
    read_rows,
    read_set_asides,
)
from parsity.study.store.rows import COLUMNS, Circumstances, Row, outcomes_of, to_row
from parsity.study.store.tables import CellEndings

logger = logging.getLogger(__name__)


class AlreadyStoredError(ParsityError):
    """Results of these trials are stored and final; nothing of what came with them was added."""

    def __init__(self, cell: str, numbers: Sequence[int]) -> None:
        super().__init__(f"{cell}: already stored: trial {', '.join(map(str, numbers))}")
        self.numbers = tuple(numbers)


def add_spec(connection: sqlite3.Connection, stored: str, identity: str, spec: str) -> None:
    """The first spec, or a grown one."""
    fresh = connection.execute("SELECT count(*) FROM head").fetchone() == (0,)
    head = Head() if fresh else read_head(connection)
    _insert(connection, "spec", head.specs + 1, stored, identity, spec)
    write_head(connection, head._replace(specs=head.specs + 1))


def add_run(connection: sqlite3.Connection, started: str, provenance: str) -> int:
    """A run's beginning; returns its number."""
    head = read_head(connection)
    number = head.runs + 1
    _insert(connection, "run", number, started, provenance)
    write_head(connection, head._replace(runs=number))
    return number


def add_run_end(connection: sqlite3.Connection, run: int, ended: str, how: str) -> None:
    """A run's end."""
    _check_run(connection, run)
    if connection.execute("SELECT 1 FROM run_end WHERE run = ?", (run,)).fetchone():
        raise UsageError(f"run {run} has ended already")
    _insert(connection, "run_end", run, ended, how)
    head = read_head(connection)
    write_head(connection, head._replace(run_ends=head.run_ends + 1))


def add_results(
    connection: sqlite3.Connection,
    key: tuple[int, float],
    results: Sequence[TrialResult],
    under: Circumstances,
    mask_digests: Mapping[int, str],
    grid: Grid,
) -> None:
    """Results of one cell, or `AlreadyStoredError` where one of them is final."""
    _check_run(connection, under.run)
    numbers = [result.number for result in results]
    if len(set(numbers)) != len(numbers):
        raise UsageError(f"trials {numbers}: one of them comes twice")
    cell = _cell(connection, key)
    rows = read_rows(connection, cell)
    stored = newest(rows)
    fresh = [
        to_row(
            cell.batch_size,
            cell.sparsity,
            result,
            stored[result.number].revision + 1 if result.number in stored else 1,
            under,
            mask_digests.get(result.number),
        )
        for result in results
    ]
    _refuse_known(connection, cell, stored, [row for row, _ in fresh], grid)
    _refuse_another_engine(connection, key, under.engine)
    places = ", ".join("?" * (len(Row._fields) + 1))
    for row, log in fresh:
        connection.execute(f"INSERT INTO trial (cell, {COLUMNS}) VALUES ({places})", (cell.id, *row))  # noqa: S608
        if log is not None:
            connection.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (cell.id, row.number, row.revision, log))
    _add_paces(connection, cell, results, [row for row, _ in fresh])
    _drop_set_asides(connection, cell, numbers)
    everything = sorted([*rows, *(row for row, _ in fresh)])
    _write_cell(connection, cell._replace(trials=len(everything), joint=joint_digest(row.digest for row in everything)))


def add_choice(connection: sqlite3.Connection, key: tuple[int, float], choice: EngineChoice, noted: str) -> None:
    """The engine of a cell, for good; said again, it has to be the same."""
    cell = _cell(connection, key)
    known = read_choices(connection).get((cell.batch_size, cell.sparsity))
    if known is not None:
        _refuse_another_engine(connection, key, choice.engine)
        return
    seconds = canonical({name: float(one) for name, one in choice.seconds.items()})
    _insert(connection, "choice", cell.id, choice.engine, choice.how, seconds, int(choice.images), noted)
    head = read_head(connection)
    write_head(connection, head._replace(choices=head.choices + 1))


def _refuse_another_engine(connection: sqlite3.Connection, key: tuple[int, float], engine: str) -> None:
    known = read_choices(connection).get((int(key[0]), float(key[1])))
    if known is not None and known.engine != engine:
        raise UsageError(
            f"batch size {key[0]}, sparsity {key[1]}: results of engine {engine!r}; this cell's engine is "
            f"{known.engine!r}, and another's results cannot be mixed with its own"
        )


def _add_paces(
    connection: sqlite3.Connection, cell: CellRow, results: Sequence[TrialResult], rows: Sequence[Row]
) -> None:
    timed = [
        (
            *(cell.id, row.number, row.revision),
            *(int(result.timed_steps), float(result.step_seconds), int(result.bytes_per_step)),
        )
        for result, row in zip(results, rows, strict=True)
        if result.step_seconds is not None and result.timed_steps > 0
    ]
    for columns in timed:
        _insert(connection, "pace", *columns)
    if timed:
        head = read_head(connection)
        write_head(connection, head._replace(paces=head.paces + len(timed)))


def add_set_asides(
    connection: sqlite3.Connection,
    key: tuple[int, float],
    numbers: Sequence[int],
    reason: str,
    attempts: int,
    noted: str,
) -> None:
    """Notes that these trials could not be finished; a newer note replaces an older one."""
    cell = _cell(connection, key)
    numbers = sorted(set(numbers))
    _drop_set_asides(connection, cell, numbers)
    for number in numbers:
        _insert(connection, "set_aside", cell.id, number, reason, attempts, noted)
    head = read_head(connection)
    write_head(connection, head._replace(set_asides=head.set_asides + len(numbers)))


def _drop_set_asides(connection: sqlite3.Connection, cell: CellRow, numbers: Sequence[int]) -> None:
    head, dropped = read_head(connection), 0
    for number in numbers:
        done = connection.execute("DELETE FROM set_aside WHERE cell = ? AND number = ?", (cell.id, number))
        dropped += done.rowcount
    if dropped:
        write_head(connection, head._replace(set_asides=head.set_asides - dropped))


def _refuse_known(
    connection: sqlite3.Connection, cell: CellRow, stored: Mapping[int, Row], fresh: Sequence[Row], grid: Grid
) -> None:
    again = [row for row in fresh if row.number in stored]
    if not again:
        return
    key = (cell.batch_size, cell.sparsity)
    aside = [note.number for note in read_set_asides(connection) if (note.batch_size, note.sparsity) == key]
    unfounded = CellEndings(*key, stored).unfounded(grid, aside)
    refused = []
    for row in again:
        old, before, now = stored[row.number], outcomes_of(stored[row.number]), outcomes_of(row)
        grown = set(now) > set(before) or row.patience > old.patience or row.number in unfounded
        if not grown or not set(now) >= set(before) or row.patience < old.patience:
            refused.append(row.number)
            continue
        for goal, outcome in before.items():
            if "outpaced" not in (outcome.status, now[goal].status) and outcome != now[goal]:
                logger.warning(
                    "trial %d of %s, goal %s, ended differently when it was run again: %s, now %s. "
                    "Has the software or the machine changed?",
                    *(row.number, cell_name(cell), goal, outcome, now[goal]),
                )
    if refused:
        raise AlreadyStoredError(cell_name(cell), refused)


def _cell(connection: sqlite3.Connection, key: tuple[int, float]) -> CellRow:
    batch_size, sparsity = int(key[0]), float(key[1])
    cells = read_cells(connection)
    if (batch_size, sparsity) in cells:
        return cells[batch_size, sparsity]
    if batch_size < 1 or not 0 <= sparsity < 1:
        raise UsageError(f"batch size {batch_size}, sparsity {sparsity}: there is no such cell")
    cell = CellRow(len(cells) + 1, batch_size, sparsity, 0, joint_digest(()))
    _write_cell(connection, cell)
    write_head(connection, read_head(connection)._replace(cells=len(cells) + 1))
    return cell


def _write_cell(connection: sqlite3.Connection, cell: CellRow) -> None:
    connection.execute(
        "INSERT INTO cell VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET trials = excluded.trials, joint = excluded.joint, digest = excluded.digest",
        (*cell, row_digest("cell", *cell)),
    )


def write_head(connection: sqlite3.Connection, head: Head) -> None:
    """The counts, as they are from now on."""
    # The key, always 1, is no part of what is read and signed.
    places = ", ".join("?" * (len(head) + 1))
    statement = f"INSERT OR REPLACE INTO head VALUES (1, {places})"  # noqa: S608  # a constant
    connection.execute(statement, (*head, row_digest("head", *head)))


def _insert(connection: sqlite3.Connection, table: str, *columns: object) -> None:
    places = ", ".join("?" * (len(columns) + 1))
    statement = f"INSERT INTO {table} VALUES ({places})"  # noqa: S608  # names of this module's own
    connection.execute(statement, (*columns, row_digest(table, *columns)))


def _check_run(connection: sqlite3.Connection, run: int) -> None:
    if not connection.execute("SELECT 1 FROM run WHERE id = ?", (run,)).fetchone():
        raise UsageError(f"run {run}: no such run has begun")
