"""Full results, put together from checked rows and settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from parsity.results import CellResult, TrialResult, settled
from parsity.study.store.grid import Grid
from parsity.study.store.reading import CellRow, newest, read_cells, read_log, read_paces, read_rows
from parsity.study.store.rows import StoredTrial, from_row

Keys = Sequence[tuple[int, float]]
Paces = Mapping[tuple[int, int, int], tuple[int, float, int]]


def cell_results(connection: sqlite3.Connection, grid: Grid, keys: Keys) -> Iterator[CellResult]:
    """The cells ``keys``, settled; a trial that has no outcome yet for one of the goals is left out."""
    for key, found in _cells(connection, grid, keys):
        yield CellResult(
            workload=grid.name,
            batch_size=key[0],
            sparsity=key[1],
            goals=grid.goals,
            patience=grid.patience,
            trials=tuple(trial.result for trial in found),
            engine=" ".join(sorted({trial.engine for trial in found})),
            test=" ".join(sorted({trial.test for trial in found})),
            seconds=sum(trial.result.seconds for trial in found),
        )


def stored_trials(connection: sqlite3.Connection, grid: Grid) -> Iterator[StoredTrial]:
    """The same trials one by one, each with where it came from."""
    for _, found in _cells(connection, grid, grid.cells):
        yield from found


def _cells(
    connection: sqlite3.Connection, grid: Grid, keys: Keys
) -> Iterator[tuple[tuple[int, float], list[StoredTrial]]]:
    cells, paces = read_cells(connection), read_paces(connection)
    for key in keys:
        yield key, _trials(connection, grid, cells[key], paces) if key in cells else []


def _trials(connection: sqlite3.Connection, grid: Grid, cell: CellRow, paces: Paces) -> list[StoredTrial]:
    rows = newest(read_rows(connection, cell))
    raw = [
        _for_goals(
            from_row(row, read_log(connection, cell, row), paces.get((cell.id, row.number, row.revision))), grid.goals
        )
        for row in rows.values()
        if row.number <= grid.trials
    ]
    whole = [result for result in raw if len(result.outcomes) == len(grid.goals)]
    found = []
    for result in settled(whole, grid.goals, grid.patience):
        row = rows[result.number]
        found.append(
            StoredTrial(
                batch_size=cell.batch_size,
                sparsity=cell.sparsity,
                result=result,
                revision=row.revision,
                run=row.run,
                patience=row.patience,
                engine=row.engine,
                test=row.test,
                mask_digest=row.mask,
                digest=row.digest,
            )
        )
    return found


def _for_goals(result: TrialResult, goals: Sequence[float]) -> TrialResult:
    return replace(
        result,
        outcomes={goal: outcome for goal, outcome in result.outcomes.items() if goal in goals},
        test_errors={goal: error for goal, error in result.test_errors.items() if goal in goals},
    )
