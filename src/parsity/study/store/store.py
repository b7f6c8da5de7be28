"""`Store`: everything a study has measured, in one SQLite file with one writer.

The contract:

- **One writer, many readers.** The driver opens the store writable; anybody may read it meanwhile, each read seeing one
  consistent state. A reader needs no permission to write, not even after a writer died in the middle of a commit.
- **Acknowledged is safe.** When `add` has returned, its results survive any crash of program or machine; when it
  raises, or is killed, either all of its results are there or none. Rollback journal, ``synchronous=EXTRA``.
- **Stored as run, settled on reading.** A result is kept raw. What shows is settled against all results of its cell, so
  no table depends on how a cell was split among processes, on order, or on interruptions.
- **Immutable.** A row never changes. Adding a trial that is stored is refused - a late result of a worker that was
  replaced ends here - unless the study has grown and the trial was run again: for more goals, or with more patience.
  The new row has a higher revision and counts from then on; the older stay.
- **Never silently different.** Every row carries a digest, every cell one over its rows, the file one over its counts.
  All reading checks them, and raises `DamagedError` at the first that does not fit; `verify` lists them all.
- **One digest for what was measured.** `digest` is the same for two studies that measured the same, however they were
  split, ordered, interrupted, or grown.
- **The spec belongs to the results.** It is stored, with every older form, and may only grow.

Errors: `BusyError` (try again), `DamagedError`, `UnwritableError` (full disk, missing permission), `UsageError`. After
each of them the file opens again with all that was acknowledged. Nothing here imports torch or unpickles anything.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from parsity.errors import UsageError
from parsity.results import CellResult, EngineChoice, TrialResult
from parsity.storage import UnwritableError, canonical, connect, guarded, read_transaction, write_transaction
from parsity.study.store import adding, cells, reading, tables
from parsity.study.store.asked import cell_endings, grid_endings, newest_spec
from parsity.study.store.grid import Grid
from parsity.study.store.migrations import migrate, migrated_copy
from parsity.study.store.overview import Overview, overview
from parsity.study.store.reading import SetAside
from parsity.study.store.rows import Circumstances, StoredTrial
from parsity.study.store.schema import LAYOUT
from parsity.study.store.tables import CellState, TableRow
from parsity.study.store.verifying import Damage, verify_connection
from parsity.whole_file import write_whole


class Store:
    """A study's results; made by `create` or `open`, not by calling this."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self._connection = connection

    @classmethod
    def create(cls, path: Path, *, spec: Mapping[str, Any], identity: str) -> Store:
        """Make a new store for ``spec`` (plain JSON data), whole or not at all, and open it for writing.

        ``identity`` names what decides a trial's numbers; it stays the same as the study grows.
        """
        Grid.of(spec)
        if path.exists():
            raise UsageError(f"{path}: there is something already")
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
            LAYOUT.create(memory)
            adding.add_spec(memory, _now(), identity, canonical(spec))
            contents = memory.serialize()
        try:
            write_whole(path, contents)
        except UsageError as error:
            raise UnwritableError(str(error)) from error
        return cls.open(path, writable=True)

    @classmethod
    def open(cls, path: Path, *, writable: bool = False) -> Store:
        """Open what `create` made; tables of an older version are brought up to date, in memory if only read."""
        connection = connect(path, writable=writable)
        try:
            with guarded(path):
                if LAYOUT.version_of(connection, path) < LAYOUT.version:
                    if writable:
                        migrate(connection, path)
                    else:
                        connection = migrated_copy(connection, path)
            store = cls(path, connection, writable=writable)
            with store._reading() as inside:
                LAYOUT.check(inside, path)
                reading.read_specs(inside)
        except BaseException:
            connection.close()
            raise
        return store

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """All that the block reads, it reads of one state; a writer waits meanwhile."""
        with self._reading():
            yield

    # What was asked for

    @property
    def spec(self) -> dict[str, Any]:
        """The spec as it is now."""
        with self._reading() as inside:
            spec: dict[str, Any] = json.loads(newest_spec(inside)[0].spec)
            return spec

    @property
    def specs(self) -> tuple[dict[str, Any], ...]:
        """Every form the spec has had, the newest last."""
        with self._reading() as inside:
            return tuple(json.loads(row.spec) for row in reading.read_specs(inside))

    @property
    def identity(self) -> str:
        """What decides a trial's numbers, as one name."""
        with self._reading() as inside:
            return newest_spec(inside)[0].identity

    @property
    def grid(self) -> Grid:
        """The cells, and what each needs, as the spec asks now."""
        with self._reading() as inside:
            return newest_spec(inside)[1]

    def grow(self, spec: Mapping[str, Any], *, identity: str | None = None) -> None:
        """Ask for more from now on: trials, batch sizes, sparsities, goals, patience. What is measured is kept."""
        grid = Grid.of(spec)
        with self._writing() as inside:
            newest, older = newest_spec(inside)
            grid.check_growth(older)
            if canonical(spec) != newest.spec or identity not in (None, newest.identity):
                adding.add_spec(inside, _now(), identity or newest.identity, canonical(spec))

    # Runs of the driver

    def begin_run(self, provenance: Mapping[str, Any]) -> int:
        """Note that a driver starts, with what `gather_provenance` found; the number names the run in its results."""
        with self._writing() as inside:
            return adding.add_run(inside, str(provenance.get("started", _now())), canonical(provenance))

    def end_run(self, run: int, how: str) -> None:
        """Note that it has ended: finished, interrupted, failed."""
        with self._writing() as inside:
            adding.add_run_end(inside, run, _now(), how)

    def runs(self) -> Mapping[int, Mapping[str, Any]]:
        """Each run's provenance, with when it started and ended, and how; None where it never said."""
        with self._reading() as inside:
            return reading.read_provenances(inside)

    # Results

    def add(
        self,
        batch_size: int,
        sparsity: float,
        results: Sequence[TrialResult],
        *,
        run: int,
        patience: float,
        goals: Sequence[float],
        engine: str,
        test: str,
        mask_digests: Mapping[int, str] | None = None,
    ) -> None:
        """Store what trials of one cell measured: all of it, or nothing and `AlreadyStoredError` names the known ones.

        Notes that a trial was set aside are dropped where its result has come after all.
        """
        under = Circumstances(run=run, patience=patience, goals=tuple(goals), engine=engine, test=test)
        with self._writing() as inside:
            grid = newest_spec(inside)[1]
            adding.add_results(inside, (batch_size, sparsity), results, under, mask_digests or {}, grid)

    def choose(self, batch_size: int, sparsity: float, choice: EngineChoice) -> None:
        """Note the engine of a cell, for good: results of another are refused from now on."""
        with self._writing() as inside:
            adding.add_choice(inside, (batch_size, sparsity), choice, _now())

    def engines(self) -> Mapping[tuple[int, float], EngineChoice]:
        """The engine of every cell that has one; where none is noted, as older versions did, that of its results."""
        with self._reading() as inside:
            return reading.read_engines(inside)

    def set_aside(self, batch_size: int, sparsity: float, numbers: Sequence[int], reason: str, attempts: int) -> None:
        """Note that these trials could not be finished, however often they were tried."""
        with self._writing() as inside:
            adding.add_set_asides(inside, (batch_size, sparsity), numbers, reason, attempts, _now())

    def set_asides(self) -> tuple[SetAside, ...]:
        """The trials set aside and not measured since."""
        with self._reading() as inside:
            return tuple(reading.read_set_asides(inside))

    def due(
        self,
        batch_size: int,
        sparsity: float,
        *,
        trials: int | None = None,
        goals: Sequence[float] | None = None,
        patience: float | None = None,
    ) -> list[int]:
        """The trials to run, or run again, until this cell is whole; what is asked for is the spec's unless given."""
        with self._reading() as inside:
            grid = newest_spec(inside)[1].asking(trials=trials, goals=goals, patience=patience)
            notes = reading.read_set_asides(inside)
            aside = [note.number for note in notes if (note.batch_size, note.sparsity) == (batch_size, sparsity)]
            return cell_endings(inside, batch_size, sparsity).due(grid, aside)

    def bounds(self, batch_size: int, sparsity: float) -> dict[float, int]:
        """The best step so far of each goal that any stored trial of the cell has reached."""
        with self._reading() as inside:
            endings = cell_endings(inside, batch_size, sparsity)
            bests = {goal: endings.finish(goal).best for goal in sorted(endings.by_goal)}
            return {goal: int(best) for goal, best in bests.items() if best < math.inf}

    def cell(
        self,
        batch_size: int,
        sparsity: float,
        *,
        trials: int | None = None,
        goals: Sequence[float] | None = None,
        patience: float | None = None,
    ) -> CellResult:
        """One cell, settled; without the trials that are yet to be run for one of the goals."""
        with self._reading() as inside:
            grid = newest_spec(inside)[1].asking(trials=trials, goals=goals, patience=patience)
            return next(cells.cell_results(inside, grid, [(batch_size, float(sparsity))]))

    def cells(self) -> tuple[CellResult, ...]:
        """Every cell of the grid of which there are results, by batch size and sparsity."""
        with self._reading() as inside:
            grid = newest_spec(inside)[1]
            return tuple(result for result in cells.cell_results(inside, grid, grid.cells) if result.trials)

    def trials(self) -> tuple[StoredTrial, ...]:
        """Every trial's newest result, settled, with where it came from; by cell and number."""
        with self._reading() as inside:
            return tuple(cells.stored_trials(inside, newest_spec(inside)[1]))

    def table(self) -> tuple[TableRow, ...]:
        """K* of every cell and goal of the grid, fast: nothing is built but this."""
        with self._reading() as inside:
            return tables.table(*grid_endings(inside))

    def state(self) -> tuple[CellState, ...]:
        """How far every cell of the grid is."""
        with self._reading() as inside:
            return tables.state(*grid_endings(inside), reading.read_set_asides(inside))

    def digest(self) -> str:
        """The digest of what was measured."""
        with self._reading() as inside:
            return tables.study_digest(*grid_endings(inside), newest_spec(inside)[0].identity)

    def overview(self) -> Overview:
        """State, table, digest, costs and runs, all of one moment and from one reading."""
        with self._reading() as inside:
            return overview(inside)

    def verify(self) -> list[Damage]:
        """Recompute every digest and check all else that can be; an empty list means all is as it was written."""
        return verify_connection(self._connection, self.path)

    # Inside

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with read_transaction(self._connection, self.path):
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if not self.writable:
            raise UsageError(f"{self.path}: it was opened for reading only")
        with write_transaction(self._connection, self.path):
            yield self._connection


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
