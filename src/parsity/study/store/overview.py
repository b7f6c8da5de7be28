"""A study at one moment, from one reading of its rows: a hundred thousand trials in less than a second."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from parsity.results import EngineChoice
from parsity.study.store import tables
from parsity.study.store.grid import Grid
from parsity.study.store.reading import (
    SetAside,
    newest,
    read_cells,
    read_choices,
    read_provenances,
    read_rows,
    read_set_asides,
    read_specs,
)
from parsity.study.store.rows import Row
from parsity.study.store.tables import CellEndings, CellState, Endings, TableRow


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What the results of one cell have cost, those included that a later run of the same trial has replaced."""

    results: int
    image_passes: int
    seconds: float

    @classmethod
    def on(cls, batch_size: int, rows: Iterable[Row]) -> Spent:
        """The sum over the rows of a cell."""
        found = list(rows)
        return cls(
            results=len(found),
            image_passes=sum(row.steps * batch_size + row.images_looked_at for row in found),
            seconds=sum(row.seconds for row in found),
        )


@dataclass(frozen=True, kw_only=True)
class Overview:
    """All that says how far a study is and what it has found, none of it newer than the rest.

    It holds what was read; what follows from that is worked out when it is asked for.
    """

    spec: dict[str, Any]
    identity: str
    spent: Mapping[tuple[int, float], Spent]
    set_asides: tuple[SetAside, ...]
    engines: Mapping[tuple[int, float], EngineChoice]
    runs: Mapping[int, Mapping[str, Any]]
    grid: Grid
    endings: Endings

    @cached_property
    def cells(self) -> tuple[CellState, ...]:
        """How far every cell of the grid is."""
        return tables.state(self.endings, self.grid, self.set_asides)

    @cached_property
    def table(self) -> tuple[TableRow, ...]:
        """K* of every cell and goal of the grid."""
        return tables.table(self.endings, self.grid)

    @cached_property
    def digest(self) -> str:
        """The digest of what was measured."""
        return tables.study_digest(self.endings, self.grid, self.identity)


def overview(connection: sqlite3.Connection) -> Overview:
    """Read it; the caller has begun a transaction."""
    spec = read_specs(connection)[-1]
    grid = Grid.of(json.loads(spec.spec))
    stored = read_cells(connection)
    endings, spent = {}, {}
    with _collector_at_rest():
        for key in grid.cells:
            rows = read_rows(connection, stored[key]) if key in stored else []
            endings[key] = CellEndings(*key, newest(rows))
            spent[key] = Spent.on(key[0], rows)
    return Overview(
        spec=json.loads(spec.spec),
        identity=spec.identity,
        spent=spent,
        set_asides=tuple(read_set_asides(connection)),
        engines=read_choices(connection),
        runs=read_provenances(connection),
        grid=grid,
        endings=endings,
    )


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """A hundred thousand rows, none of them garbage: looking for some among them takes a tenth of the time."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
