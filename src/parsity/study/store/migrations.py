"""Bringing a file of an older version up to date: each step in one transaction, so that a crash leaves old or new.

A step checks the old rows' digests before it signs anything again: damage is never made to look whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parsity.results import TrialResult, outcome_from_row
from parsity.storage import MisfitError, guarded, write_transaction
from parsity.study.store.adding import add_results, add_run, add_run_end, add_spec, write_head
from parsity.study.store.grid import Grid
from parsity.study.store.reading import Head, checked
from parsity.study.store.rows import Circumstances
from parsity.study.store.schema import LAYOUT


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Take the file from its version to this one."""
    while True:
        with write_transaction(connection, path):
            # Asked inside the transaction: somebody else may have been faster.
            found = LAYOUT.version_of(connection, path)
            if found >= LAYOUT.version:
                return
            connection.execute(f"PRAGMA user_version={_STEPS[found](connection)}")


def migrated_copy(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The file's contents up to date, in memory: for those who only read it. Closes ``connection``."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        with guarded(path):
            connection.backup(memory)
        migrate(memory, path)
    except BaseException:
        memory.close()
        raise
    finally:
        connection.close()
    return memory


def _from_0(connection: sqlite3.Connection) -> int:
    """Version 0 kept whole results as JSON in one table, had one spec, and neither revisions nor counts.

    Its tables: ``study (identity, spec, stored, digest)``; ``runs (id, started, ended, how, provenance, digest)``;
    ``results (batch_size, sparsity, number, run, patience, engine, test, mask, result, digest)``.
    """
    query = "SELECT identity, spec, stored, digest FROM study"
    identity, spec, stored = checked("study", "the spec", connection.execute(query).fetchone())
    runs = connection.execute("SELECT id, started, ended, how, provenance, digest FROM runs ORDER BY id").fetchall()
    results = connection.execute(
        "SELECT batch_size, sparsity, number, run, patience, engine, test, mask, result, digest FROM results"
        " ORDER BY batch_size, sparsity, number"
    ).fetchall()
    for table in ("study", "runs", "results"):
        connection.execute(f"DROP TABLE {table}")
    LAYOUT.create(connection)
    add_spec(connection, stored, identity, spec)
    for row in runs:
        number, started, ended, how, provenance = checked("runs", f"run {row[0]}", row)
        if add_run(connection, started, provenance) != number:
            raise MisfitError(f"run {number - 1} is missing")
        if ended is not None:
            add_run_end(connection, number, ended, how)
    for row in results:
        name = f"trial {row[2]} of batch size {row[0]}, sparsity {row[1]}"
        batch_size, sparsity, _, run, patience, engine, test, mask, text = checked("results", name, row)
        result = _result_of_0(json.loads(text))
        under = Circumstances(run=run, patience=patience, goals=tuple(result.outcomes), engine=engine, test=test)
        masks = {result.number: mask} if mask else {}
        add_results(connection, (batch_size, sparsity), [result], under, masks, Grid.of(json.loads(spec)))
    return LAYOUT.version


def _from_1(connection: sqlite3.Connection) -> int:
    """Version 1 noted neither the engines of cells nor what steps took, and its head did not count them.

    Which engine a cell has is then told by its results; the driver notes it when it goes on with the cell.
    """
    query = "SELECT specs, runs, run_ends, cells, set_asides, digest FROM head"
    counts = checked("head", "the head of the file", connection.execute(query).fetchone())
    connection.execute("DROP TABLE head")
    LAYOUT.create_tables(connection, {"head", "choice", "pace"})
    write_head(connection, Head(*counts))
    return 2


def _result_of_0(plain: dict[str, Any]) -> TrialResult:
    return TrialResult(
        number=plain["number"],
        metaparameters=plain["metaparameters"],
        outcomes={goal: outcome_from_row(status, step, miss) for goal, status, step, miss in plain["outcomes"]},
        steps=plain["steps"],
        images_looked_at=plain["images_looked_at"],
        seconds=plain["seconds"],
        test_errors=dict(plain["test_errors"]),
        log=tuple((step, loss, error) for step, loss, error in plain["log"]),
    )


_STEPS: dict[int, Callable[[sqlite3.Connection], int]] = {0: _from_0, 1: _from_1}
"""By the version they begin with; each returns the one it arrives at."""
