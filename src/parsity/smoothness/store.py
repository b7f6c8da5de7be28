"""Where measurements of smoothness are kept: a journal in one SQLite file, with a study's safety.

- **One writer, many readers**; rollback journal, ``synchronous=EXTRA``: what `add` has stored survives any crash.
- **Append only.** A record never changes and is never written twice. Each is signed together with the digest of the one
  before it, and the head of the file with the last one's: a row changed, missing, doubled or moved is seen on reading.
- **One digest for what was measured**: the same however often the measurement was stopped, resumed or extended.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from parsity.errors import DamagedError, ParsityError, UsageError
from parsity.results import CurvaturePoint, LipschitzPoint, NoisePoint, Smoothness, SmoothnessCurve
from parsity.smoothness.spec import SmoothnessSpec
from parsity.storage import (
    Layout,
    MisfitError,
    canonical,
    connect,
    joint_digest,
    one_line,
    read_transaction,
    row_digest,
    write_transaction,
)
from parsity.whole_file import write_whole

STORE = "smoothness.sqlite"
Point = LipschitzPoint | NoisePoint | CurvaturePoint
KINDS: dict[str, type[Point]] = {"lipschitz": LipschitzPoint, "noise": NoisePoint, "curvature": CurvaturePoint}
_LAYOUT = Layout(
    "measurement of smoothness",
    0x5072736D,  # "Prsm"
    1,
    """
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    records INTEGER NOT NULL,
    last TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE record (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    sparsity REAL CHECK (sparsity >= 0 AND sparsity < 1),
    step INTEGER CHECK (step >= 0),
    run INTEGER,
    written TEXT NOT NULL,
    seconds REAL,
    value TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (kind, sparsity, step)
) STRICT;
""",
)


class Record(NamedTuple):
    """One row: a spec, the beginning or end of a run, a point, or the step at which training became infeasible."""

    number: int
    kind: str
    sparsity: float | None
    step: int | None
    run: int | None
    written: str
    seconds: float | None
    value: str
    digest: str


class SmoothnessStore:
    """A measurement's records; made by `create` or `open`, not by calling this."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def create(cls, path: Path, spec: SmoothnessSpec) -> SmoothnessStore:
        """Make a new store for ``spec``, whole or not at all, and open it for writing."""
        if path.exists():
            raise UsageError(f"{path}: there is something already")
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
            _LAYOUT.create(memory)
            _write_head(memory, 0, "")
            _append(memory, "spec", canonical(spec.document()))
            write_whole(path, memory.serialize())
        return cls.open(path, writable=True)

    @classmethod
    def open(cls, path: Path, *, writable: bool = False) -> SmoothnessStore:
        """Open what `create` made."""
        connection = connect(path, writable=writable, what=_LAYOUT.what)
        try:
            with read_transaction(connection, path):
                _LAYOUT.version_of(connection, path)
                _LAYOUT.check(connection, path)
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def records(self) -> list[Record]:
        """Every record in the order of writing, checked."""
        with read_transaction(self._connection, self.path):
            return _checked_records(self._connection)

    @property
    def spec(self) -> SmoothnessSpec:
        """What is asked for now."""
        newest = [record for record in self.records() if record.kind == "spec"][-1]
        return SmoothnessSpec.from_document(json.loads(newest.value))

    def grow(self, spec: SmoothnessSpec) -> None:
        """Ask for this from now on; what is measured is kept."""
        older = self.spec
        spec.check_growth(older)
        if spec != older:
            with self._writing() as inside:
                _append(inside, "spec", canonical(spec.document()))

    def begin_run(self, provenance: Mapping[str, Any]) -> int:
        """Note that somebody starts measuring; the number names the run in its points."""
        with self._writing() as inside:
            (before,) = inside.execute("SELECT count(*) FROM record WHERE kind = 'run'").fetchone()
            _append(inside, "run", canonical(provenance), run=before + 1)
            return int(before) + 1

    def end_run(self, run: int, how: str) -> None:
        """Note that it has ended: finished, interrupted, failed."""
        with self._writing() as inside:
            _append(inside, "run_end", canonical(how), run=run)

    def add(self, sparsity: float, point: Point, *, run: int, seconds: float) -> None:
        """Store a point; one that is there already is refused."""
        kind = next(name for name, one in KINDS.items() if isinstance(point, one))
        with self._writing() as inside:
            key = (kind, float(sparsity), point.step)
            query = "SELECT 1 FROM record WHERE (kind, sparsity, step) = (?, ?, ?)"
            if inside.execute(query, key).fetchone():
                raise ParsityError(f"{self.path}: already stored: {kind} of sparsity {sparsity:g} at step {point.step}")
            _append(inside, kind, canonical(asdict(point)), sparsity, point.step, run, seconds)

    def add_infeasible(self, sparsity: float, step: int, *, run: int) -> None:
        """Note that training has stopped being finite at ``step``: nothing more can be measured of it."""
        with self._writing() as inside:
            _append(inside, "infeasible", "true", sparsity, step, run)

    def measured(self) -> dict[tuple[float, int, str], float]:
        """By (sparsity, step, kind), how many seconds each stored point took."""
        return {
            (float(one.sparsity or 0), int(one.step or 0), one.kind): one.seconds or 0.0
            for one in self.records()
            if one.kind in KINDS
        }

    def infeasible(self) -> dict[float, int]:
        """By sparsity, where training stopped being finite."""
        return {float(r.sparsity or 0): int(r.step or 0) for r in self.records() if r.kind == "infeasible"}

    def runs(self) -> tuple[dict[str, Any], ...]:
        """Each run's provenance, the oldest first."""
        return tuple(json.loads(record.value) for record in self.records() if record.kind == "run")

    def smoothness(self) -> Smoothness:
        """All that was measured, at the steps and sparsities that are asked for now."""
        spec, records = self.spec, self.records()
        wanted = set(spec.due())
        curves = []
        for sparsity in spec.sparsities:
            ours = [r for r in records if r.sparsity == sparsity and (r.step, r.kind) in wanted]
            broken = [r.step for r in records if r.sparsity == sparsity and r.kind == "infeasible"]
            found = {kind: tuple(_point(r) for r in ours if r.kind == kind) for kind in KINDS}
            if ours or broken:
                curves.append(_curve(sparsity, found, broken[0] if broken else None))
        return Smoothness(spec=spec.document(), curves=tuple(curves), digest=self.digest())

    def digest(self) -> str:
        """The digest of what was measured: nothing of when, by whom, in which order or how fast."""
        measured = sorted(
            (float(r.sparsity or 0), int(r.step or 0), r.kind, r.value)
            for r in self.records()
            if r.kind in KINDS or r.kind == "infeasible"
        )
        return joint_digest([self.spec.identity, *(row_digest("measured", *one) for one in measured)])

    def verify(self) -> list[str]:
        """Everything that is not as it was written; an empty list is good news."""
        try:
            with read_transaction(self._connection, self.path):
                pages = [line for (line,) in self._connection.execute("PRAGMA integrity_check") if line != "ok"]
                _checked_records(self._connection)
        except DamagedError as error:
            cause = error.__cause__
            return [one_line(cause if isinstance(cause, Exception) else error)]
        return pages

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with write_transaction(self._connection, self.path):
            yield self._connection


def read_smoothness(folder: Path) -> Smoothness | None:
    """What was measured in ``folder``; None where nothing was."""
    if not (folder / STORE).is_file():
        return None
    with SmoothnessStore.open(folder / STORE) as store:
        return store.smoothness()


def _curve(sparsity: float, found: Mapping[str, tuple[Point, ...]], infeasible: int | None) -> SmoothnessCurve:
    def of(kind: type[Any], name: str) -> tuple[Any, ...]:
        return tuple(sorted((p for p in found[name] if isinstance(p, kind)), key=lambda p: p.step))

    return SmoothnessCurve(
        sparsity=sparsity,
        points=of(LipschitzPoint, "lipschitz"),
        noise=of(NoisePoint, "noise"),
        curvature=of(CurvaturePoint, "curvature"),
        infeasible=infeasible,
    )


def _point(record: Record) -> Point:
    value = json.loads(record.value)
    if record.kind == "lipschitz":
        value["ratios"] = {float(gamma): ratio for gamma, ratio in value["ratios"].items()}
    return KINDS[record.kind](**value)


def _checked_records(connection: sqlite3.Connection) -> list[Record]:
    records, last = _head(connection)
    rows = connection.execute(f"SELECT {', '.join(Record._fields)} FROM record ORDER BY number").fetchall()  # noqa: S608
    found = list(map(Record._make, rows))
    before = ""
    for place, record in enumerate(found, 1):
        if record.number != place or row_digest("record", *record[:-1], before) != record.digest:
            raise MisfitError(f"record {place} does not match its digest, or is missing")
        before = record.digest
    if len(found) != records or before != last:
        raise MisfitError(f"of {records} records, {len(found)} are found")
    return found


def _head(connection: sqlite3.Connection) -> tuple[int, str]:
    row = connection.execute("SELECT records, last, digest FROM head").fetchone()
    if row is None or row_digest("head", *row[:-1]) != row[-1]:
        raise MisfitError("the head of the file is missing or does not match its digest")
    return row[0], row[1]


def _write_head(connection: sqlite3.Connection, records: int, last: str) -> None:
    digest = row_digest("head", records, last)
    connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)", (records, last, digest))


def _append(
    connection: sqlite3.Connection,
    kind: str,
    value: str,
    sparsity: float | None = None,
    step: int | None = None,
    run: int | None = None,
    seconds: float | None = None,
) -> None:
    records, last = _head(connection)
    # As SQLite gives them back: a whole number in a column of reals would not match its digest on reading.
    sparsity, seconds = (None if real is None else float(real) for real in (sparsity, seconds))
    columns = (records + 1, kind, sparsity, step, run, _now(), seconds, value)
    digest = row_digest("record", *columns, last)
    connection.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*columns, digest))
    _write_head(connection, records + 1, digest)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
