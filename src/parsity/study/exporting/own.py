"""Import of what Parsity exported to the batch-science layout: the same trials, the same digest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parsity.errors import UsageError
from parsity.results import TrialResult, outcome_from_row
from parsity.study.exporting.layout import KEY, metaparameter_name
from parsity.study.exporting.published import Cell, legible, log_entries
from parsity.study.store import Store

_CIRCUMSTANCES = ("run", "patience", "engine", "test")


def import_own(cells: Sequence[Cell], heading: Mapping[str, Any], path: Path) -> None:
    """Make a store of it at ``path``; refuse data that is not as it was exported."""
    with Store.create(path, spec=heading["spec"], identity=heading["identity"]) as store:
        # Runs are numbered from 1, in the exported store as in this one.
        for _, provenance in sorted(heading["runs"].items(), key=lambda item: int(item[0])):
            run = store.begin_run(provenance)
            if provenance.get("how"):
                store.end_run(run, provenance["how"])
        for cell in cells:
            _add(store, cell)
        if store.digest() != heading["digest"]:
            raise UsageError(
                f"{cells[0].folder}: the results are not those that were exported: their digest is another"
            )


def _add(store: Store, cell: Cell) -> None:
    trials = sorted(_trials(cell), key=lambda pair: [pair[0][name] for name in _CIRCUMSTANCES])
    for _, group in itertools.groupby(trials, key=lambda pair: [pair[0][name] for name in _CIRCUMSTANCES]):
        some = list(group)
        facts, first = some[0]
        store.add(
            *cell.key,
            [result for _, result in some],
            run=facts["run"],
            patience=facts["patience"],
            goals=tuple(first.outcomes),
            engine=facts["engine"],
            test=facts["test"],
            mask_digests={result.number: one["mask_digest"] for one, result in some if one["mask_digest"]},
        )


def _trials(cell: Cell) -> Iterator[tuple[dict[str, Any], TrialResult]]:
    for metadata, rows, folder in cell.trials():
        with legible(folder / "metadata.json"):
            facts = metadata[KEY]
            facts["patience"] = float(facts["patience"])
            result = TrialResult(
                number=metadata["trial_id"],
                metaparameters={metaparameter_name(name): value for name, value in metadata["parameters"].items()},
                outcomes={goal: outcome_from_row(status, step, miss) for goal, status, step, miss in facts["outcomes"]},
                steps=metadata["steps"],
                images_looked_at=facts["images_looked_at"],
                seconds=facts["seconds"],
                test_errors=dict(facts["test_errors"]),
                log=tuple(log_entries(rows)),
            )
        yield facts, result
