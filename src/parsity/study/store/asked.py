"""What the newest spec asks for, and the rows that answer; each inside a transaction of the caller's."""

from __future__ import annotations

import json
import sqlite3

from parsity.study.store.grid import Grid
from parsity.study.store.reading import SpecRow, newest, read_cells, read_rows, read_specs
from parsity.study.store.tables import CellEndings, Endings, read_endings


def newest_spec(connection: sqlite3.Connection) -> tuple[SpecRow, Grid]:
    """The spec as it is now, and its grid."""
    spec = read_specs(connection)[-1]
    return spec, Grid.of(json.loads(spec.spec))


def grid_endings(connection: sqlite3.Connection) -> tuple[Endings, Grid]:
    """How the trials of every cell ended, and the grid that asks."""
    grid = newest_spec(connection)[1]
    return read_endings(connection, grid), grid


def cell_endings(connection: sqlite3.Connection, batch_size: int, sparsity: float) -> CellEndings:
    """How the trials of one cell ended, whether the grid has it or not."""
    cell = read_cells(connection).get((batch_size, float(sparsity)))
    return CellEndings(batch_size, sparsity, newest(read_rows(connection, cell)) if cell else {})
