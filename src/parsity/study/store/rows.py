"""A trial's result as a row, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from parsity.errors import UsageError
from parsity.results import Complete, Outcome, TrialResult, outcome_from_row
from parsity.storage import canonical, row_digest


class Row(NamedTuple):
    """One row of ``trial`` without its cell's key: what was measured, as it was run."""

    number: int
    revision: int
    run: int
    patience: float
    engine: str
    test: str
    steps: int
    images_looked_at: int
    seconds: float
    metaparameters: str
    outcomes: str
    mask: str | None
    log: str | None
    digest: str


COLUMNS = ", ".join(Row._fields)
# The digest itself, last of a row's columns, is taken and not written.
_SIGNED = "\n".join(["%s"] * (len(Row._fields) - 1)) + "%.0s"


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What the trials that are added together were run under."""

    run: int
    patience: float
    goals: tuple[float, ...]
    engine: str
    test: str


@dataclass(frozen=True, kw_only=True)
class StoredTrial:
    """A trial's newest row, read back: its result, and where that came from."""

    batch_size: int
    sparsity: float
    result: TrialResult
    revision: int
    run: int
    patience: float
    engine: str
    test: str
    mask_digest: str | None
    digest: str


def to_row(
    batch_size: int, sparsity: float, result: TrialResult, revision: int, under: Circumstances, mask: str | None
) -> tuple[Row, str | None]:
    """The row of a result, and its log's text where it has a log."""
    if set(result.outcomes) != set(under.goals):
        found, wanted = _listed(result.outcomes), _listed(under.goals)
        raise UsageError(f"trial {result.number}: outcomes for goals {found}; it was run for {wanted}")
    entries = [[int(step), float(loss), float(error)] for step, loss, error in result.log]
    log = canonical(entries) if entries else None
    columns = (
        int(result.number),
        revision,
        under.run,
        float(under.patience),
        under.engine,
        under.test,
        int(result.steps),
        int(result.images_looked_at),
        float(result.seconds),
        canonical({name: _plain(value) for name, value in result.metaparameters.items()}),
        canonical([_outcome_entry(goal, result) for goal in sorted(result.outcomes)]),
        mask,
        row_digest("log", log) if log else None,
    )
    return Row(*columns, *signatures(batch_size, sparsity, [(*columns, "")])), log


def signatures(batch_size: int, sparsity: float, rows: Iterable[tuple[object, ...]]) -> list[str]:
    """The digest of each row of a cell, from all its columns but the last, which is the place of the digest."""
    # `row_digest("trial", batch_size, sparsity, *row[:-1])`, faster: there may be a hundred thousand of them.
    cell = f"trial\n{batch_size}\n{sparsity}\n"
    return [hashlib.sha256((cell + _SIGNED % row).encode()).hexdigest() for row in rows]


def outcomes_of(row: Row) -> dict[float, Outcome]:
    """How the trial ended, by goal."""
    return {goal: outcome_from_row(status, step, miss) for goal, status, step, miss, _ in json.loads(row.outcomes)}


def from_row(row: Row, log: str | None = None, pace: tuple[int, float, int] | None = None) -> TrialResult:
    """The result that was stored, as it was run: not settled."""
    entries = json.loads(row.outcomes)
    timed_steps, step_seconds, bytes_per_step = pace or (0, None, 0)
    return TrialResult(
        number=row.number,
        metaparameters=json.loads(row.metaparameters),
        outcomes={goal: outcome_from_row(status, step, miss) for goal, status, step, miss, _ in entries},
        steps=row.steps,
        images_looked_at=row.images_looked_at,
        seconds=row.seconds,
        test_errors={goal: error for goal, _, _, _, error in entries if error is not None},
        log=tuple((step, loss, error) for step, loss, error in json.loads(log)) if log else (),
        step_seconds=step_seconds,
        timed_steps=timed_steps,
        bytes_per_step=bytes_per_step,
    )


def _outcome_entry(goal: float, result: TrialResult) -> list[Any]:
    outcome = result.outcomes[goal]
    miss = int(outcome.last_miss) if isinstance(outcome, Complete) else None
    error = result.test_errors.get(goal)
    return [float(goal), outcome.status, int(outcome.step), miss, None if error is None else float(error)]


def _plain(value: float | int | str) -> float | int | str:
    # numpy's whole numbers are no int, and its floats print differently.
    if isinstance(value, str):
        return value
    return int(value) if hasattr(value, "__index__") else float(value)


def _listed(goals: Mapping[float, Any] | tuple[float, ...]) -> str:
    return ", ".join(str(goal) for goal in sorted(goals)) or "none"
