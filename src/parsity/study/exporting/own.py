"""Import of what Parsity itself exported, as JSON or to the batch-science layout: the same trials, the same digest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parsity.errors import UsageError
from parsity.results import TrialResult, outcome_from_row
from parsity.study.exporting.layout import KEY, metaparameter_name
from parsity.study.exporting.published import Cell, legible, log_entries, read_json
from parsity.study.store import Store


class Exported(NamedTuple):
    """A trial as it was exported, and what it was run under; sorted by what is added to a store together."""

    key: tuple[int, float]
    run: int
    patience: float
    engine: str
    test: str
    goals: tuple[float, ...]
    number: int
    result: TrialResult
    mask_digest: str | None


def import_own(cells: Sequence[Cell], heading: Mapping[str, Any], path: Path) -> None:
    """Make a store of the batch-science layout at ``path``; refuse data that is not as it was exported."""
    _restore([one for cell in cells for one in _of_cell(cell)], heading, path, cells[0].folder)


def import_json(file: Path, path: Path) -> None:
    """Make a store of a JSON export at ``path``; refuse data that is not as it was exported."""
    contents = read_json(file)
    with legible(file):
        heading, rows = contents["about"], contents["trials"]
        rows.sort(key=_trial_of)
        logs = {_trial_of(one): one["log"] for one in contents["logs"]}
        trials = [_of_rows(list(some), logs.get(key, ())) for key, some in itertools.groupby(rows, key=_trial_of)]
    _restore(trials, heading, path, file)


def _restore(trials: Iterable[Exported], heading: Mapping[str, Any], path: Path, source: Path) -> None:
    with legible(source):
        spec, identity, digest = heading["spec"], heading["identity"], heading["digest"]
        # Runs are numbered from 1, in the exported store as in this one.
        runs = [dict(run) for _, run in sorted(heading["runs"].items(), key=lambda item: int(item[0]))]
    with Store.create(path, spec=spec, identity=identity) as store:
        for provenance in runs:
            run = store.begin_run(provenance)
            if provenance.get("how"):
                store.end_run(run, provenance["how"])
        for _, group in itertools.groupby(sorted(trials, key=lambda one: one[:7]), key=lambda one: one[:6]):
            some = list(group)
            store.add(
                *some[0].key,
                [one.result for one in some],
                run=some[0].run,
                patience=some[0].patience,
                goals=some[0].goals,
                engine=some[0].engine,
                test=some[0].test,
                mask_digests={one.number: one.mask_digest for one in some if one.mask_digest},
            )
        if store.digest() != digest:
            raise UsageError(f"{source}: the results are not those that were exported: their digest is another")


def _of_cell(cell: Cell) -> Iterator[Exported]:
    for metadata, rows, folder in cell.trials():
        with legible(folder / "metadata.json"):
            facts = metadata[KEY]
            result = TrialResult(
                number=metadata["trial_id"],
                metaparameters={metaparameter_name(name): value for name, value in metadata["parameters"].items()},
                outcomes={goal: outcome_from_row(status, step, miss) for goal, status, step, miss in facts["outcomes"]},
                steps=metadata["steps"],
                images_looked_at=facts["images_looked_at"],
                seconds=facts["seconds"],
                step_seconds=facts.get("step_seconds"),  # of older exports there are none
                timed_steps=facts.get("timed_steps", 0),
                bytes_per_step=facts.get("bytes_per_step", 0),
                test_errors=dict(facts["test_errors"]),
                log=tuple(log_entries(rows)),
            )
            exported = _exported(cell.key, facts, result)
        yield exported


def _trial_of(row: Mapping[str, Any]) -> tuple[int, float, int]:
    return row["batch_size"], row["sparsity"], row["trial"]


def _of_rows(rows: Sequence[Mapping[str, Any]], log: Iterable[Sequence[Any]]) -> Exported:
    """A trial from its rows, one for each goal, and its log."""
    first = rows[0]
    result = TrialResult(
        number=first["trial"],
        metaparameters=first["metaparameters"],
        outcomes={row["goal"]: outcome_from_row(row["status"], row["step"], row["last_miss"]) for row in rows},
        steps=first["steps"],
        images_looked_at=first["images_looked_at"],
        seconds=first["seconds"],
        step_seconds=first.get("step_seconds"),
        timed_steps=first.get("timed_steps", 0),
        bytes_per_step=first.get("bytes_per_step", 0),
        test_errors={row["goal"]: row["test_error"] for row in rows if row["test_error"] is not None},
        log=tuple((step, loss, error) for step, loss, error in log),
    )
    return _exported((first["batch_size"], first["sparsity"]), first, result)


def _exported(key: tuple[int, float], facts: Mapping[str, Any], result: TrialResult) -> Exported:
    return Exported(
        key=key,
        run=facts["run"],
        patience=float(facts["patience"]),
        engine=facts["engine"],
        test=facts["test"],
        goals=tuple(sorted(result.outcomes)),
        number=result.number,
        result=result,
        mask_digest=facts["mask_digest"],
    )
