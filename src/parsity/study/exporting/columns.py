"""The columns of every export: what each is called and means. `docs/columns.md` is made of this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import parsity
from parsity.results import Complete, Status
from parsity.study.store import Store, StoredTrial, TableRow

LAYOUT = 1
"""Goes up when a column is dropped or comes to mean something else; a further column leaves it."""


@dataclass(frozen=True)
class Column:
    """One column: its name, the type of its values, and what they say."""

    name: str
    kind: type[int] | type[float] | type[str] | type[bool]
    meaning: str
    empty: str = ""
    """When there is no value; never, if this is empty."""


_CELL = (
    Column("workload", str, "name of the workload; `own` for one's own parts"),
    Column("batch_size", int, "images per training step"),
    Column("sparsity", float, "share of the parameters that were pruned"),
)
_GOAL = Column("goal", float, "the error on the validation split that was to be reached")

TABLE_COLUMNS = (
    *_CELL,
    _GOAL,
    Column("steps_to_result", int, "K*: the fewest steps any trial needed", "no trial has reached the goal"),
    Column("last_miss", int, "the winner's last check before that, where the goal was missed", "no winner"),
    Column("winner", int, "number of the trial that needed them; of several, the lowest", "no winner"),
    Column("test_error", float, "the winner's error on the test split at that step", "no winner, or no test split"),
    Column("trials", int, "trials with a result for this goal"),
    *(Column(status, int, f"how many of them were {status}") for status in get_args(Status)),
    Column("metaparameters", str, "what the winner was run with, one column each in flat forms", "no winner"),
)

TRIAL_COLUMNS = (
    *_CELL,
    Column("trial", int, "number in the search sequence, from 1"),
    _GOAL,
    Column("status", str, f"how the trial ended for this goal: {', '.join(get_args(Status))}"),
    Column("step", int, "the step at which it did; of an outpaced trial, how far it is known to have come"),
    Column("last_miss", int, "the last check where the goal was missed", "not complete"),
    Column("winner", bool, "whether it is the one with the fewest steps"),
    Column("test_error", float, "the winner's error on the test split at that step", "no winner, or no test split"),
    Column("steps", int, "training steps done, over all goals"),
    Column("images_looked_at", int, "validation images that goal tests looked at, over all goals, repeats counted"),
    Column("image_passes", int, "steps x batch size + images looked at: what the trial cost"),
    Column("seconds", float, "time its training and tests took, of the processor where one thread of it did the work"),
    Column("step_seconds", float, "what one training step took, goal tests apart: the median", "nobody timed it"),
    Column("timed_steps", int, "how many of its steps that is the median of"),
    Column("bytes_per_step", int, "bytes each of its ranks handed over to be summed in a step; 0 with one process"),
    Column("patience", float, "multiple of K* up to which it was allowed to run; may be infinite"),
    Column("engine", str, "what computed its steps"),
    Column("test", str, "how goals were asked about"),
    Column("run", int, "number of the driver's run that measured it; the runs are listed beside the study's digest"),
    Column("revision", int, "1, or more where the study has grown and the trial was run again"),
    Column("mask_digest", str, "sha256 of its pruning mask", "dense"),
    Column("row_digest", str, "sha256 of its row in the store"),
    Column("metaparameters", str, "what it was run with, one column each in flat forms"),
)


def about(store: Store) -> dict[str, Any]:
    """What an export is of: the study's digest, identity and spec, and every run with its provenance."""
    return {
        "layout": LAYOUT,
        "parsity": parsity.__version__,
        "digest": store.digest(),
        "identity": store.identity,
        "spec": store.spec,
        "runs": {str(number): _told(run) for number, run in store.runs().items()},
    }


def _told(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run's provenance; of its command the program's name, not where that lay, as studies begun earlier have it."""
    program, *words = run.get("command") or [""]
    return {**run, "command": [program.replace("\\", "/").rpartition("/")[2], *words] if program else words}


def table_rows(store: Store) -> list[dict[str, Any]]:
    """The K* table, one row per cell and goal, with the columns above in their order."""
    name = store.grid.name
    return [table_row(name, row) for row in store.table()]


def table_row(workload: str, row: TableRow) -> dict[str, Any]:
    """One row of it."""
    return {
        "workload": workload,
        "batch_size": row.batch_size,
        "sparsity": row.sparsity,
        "goal": row.goal,
        "steps_to_result": row.steps_to_result,
        "last_miss": row.last_miss,
        "winner": row.winner,
        "test_error": row.test_error,
        "trials": row.trials,
        **{status: row.outcomes.get(status, 0) for status in get_args(Status)},
        "metaparameters": None if row.metaparameters is None else dict(row.metaparameters),
    }


def trial_rows(store: Store) -> list[dict[str, Any]]:
    """Every trial's outcome, one row per trial and goal, with the columns above in their order."""
    name = store.grid.name
    winners = {(row.batch_size, row.sparsity, row.goal): row.winner for row in store.table()}
    return [row for trial in store.trials() for row in _rows_of(name, trial, winners)]


def log_rows(store: Store) -> list[dict[str, Any]]:
    """The log of each trial that has one: step, mean training loss since the entry before, validation error."""
    return [
        {
            "batch_size": trial.batch_size,
            "sparsity": trial.sparsity,
            "trial": trial.result.number,
            "log": [list(entry) for entry in trial.result.log],
        }
        for trial in store.trials()
        if trial.result.log
    ]


def _rows_of(
    name: str, trial: StoredTrial, winners: Mapping[tuple[int, float, float], int | None]
) -> Iterator[dict[str, Any]]:
    result = trial.result
    for goal, outcome in sorted(result.outcomes.items()):
        yield {
            "workload": name,
            "batch_size": trial.batch_size,
            "sparsity": trial.sparsity,
            "trial": result.number,
            "goal": goal,
            "status": outcome.status,
            "step": outcome.step,
            "last_miss": outcome.last_miss if isinstance(outcome, Complete) else None,
            "winner": winners[trial.batch_size, trial.sparsity, goal] == result.number,
            "test_error": result.test_errors.get(goal),
            "steps": result.steps,
            "images_looked_at": result.images_looked_at,
            "image_passes": result.steps * trial.batch_size + result.images_looked_at,
            "seconds": result.seconds,
            "step_seconds": result.step_seconds,
            "timed_steps": result.timed_steps,
            "bytes_per_step": result.bytes_per_step,
            "patience": trial.patience,
            "engine": trial.engine,
            "test": trial.test,
            "run": trial.run,
            "revision": trial.revision,
            "mask_digest": trial.mask_digest,
            "row_digest": trial.digest,
            "metaparameters": dict(result.metaparameters),
        }


def flat(rows: Iterable[Mapping[str, Any]], columns: Iterable[Column]) -> tuple[list[str], list[list[Any]]]:
    """The names and values of rows in which each metaparameter has a column of its own: `metaparameter_...`."""
    found = list(rows)
    names = [column.name for column in columns if column.name != "metaparameters"]
    searched = sorted({name for row in found for name in row["metaparameters"] or ()})
    values = [
        [row[name] for name in names] + [(row["metaparameters"] or {}).get(one) for one in searched] for row in found
    ]
    return names + [f"metaparameter_{name}" for name in searched], values
