"""Import of data that others published in the batch-science layout.

Outcomes are worked out as a race would have: a trial is complete at the first measurement, after step 0, whose error is
at most the goal, even if it diverged later; otherwise infeasible or incomplete at its last step, as its status says.
Trials they call INCOMPLETE were broken off for reasons unknown, and are left out. (Their own plots ask for an error
below the goal, and pass over all trials that diverged.)
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parsity.results import Complete, Incomplete, Infeasible, Outcome, TrialResult
from parsity.study.exporting.layout import STEP, TEST_ERROR, metaparameter_name, space_entries
from parsity.study.exporting.published import Cell, Rows, legible, log_entries, number
from parsity.study.store import Store

logger = logging.getLogger(__name__)

ROUNDING = 1e-9
"""How far above a goal a written error may lie and still be the goal: less than one image in any data set."""


def import_others(cells: Sequence[Cell], path: Path, goals: Sequence[float], measure: str) -> None:
    """Make a store of it at ``path``."""
    results = {cell.key: list(_results(cell, goals, measure)) for cell in cells}
    spec = _spec(cells, goals, measure, max((r.number for some in results.values() for r in some), default=1))
    identity = hashlib.sha256(json.dumps(spec["imported"], sort_keys=True).encode()).hexdigest()
    with Store.create(path, spec=spec, identity=identity) as store:
        run = store.begin_run({"imported": spec["imported"]})
        for key, some in results.items():
            store.add(*key, some, run=run, patience=float("inf"), goals=goals, engine="imported", test=measure)
        store.end_run(run, "finished")


def _spec(cells: Sequence[Cell], goals: Sequence[float], measure: str, trials: int) -> dict[str, Any]:
    names = cells[0].names
    keys = [cell.key for cell in cells]
    configs = cells[0].facts.get("parameter_configs", {})
    return {
        "name": "/".join(names.values()),
        "workload": "/".join(names.values()),
        "goals": list(goals),
        "batch_sizes": sorted({batch_size for batch_size, _ in keys}),
        "sparsities": sorted({sparsity for _, sparsity in keys}),
        "trials": trials,
        "patience": "inf",
        "step_limit": max(int(cell.facts.get("train_steps") or 0) for cell in cells),
        "space": space_entries(configs),
        "imported": {**names, "measure": measure, "parameter_configs": configs},
    }


def _results(cell: Cell, goals: Sequence[float], measure: str) -> Iterator[TrialResult]:
    passed_over = 0
    for metadata, rows, folder in cell.trials():
        with legible(folder / "metadata.json"):
            status = metadata["status"]
            if status == "INCOMPLETE":
                passed_over += 1
                continue
            if status not in ("COMPLETE", "INFEASIBLE"):
                raise ValueError(f"status {status!r}")
            trial, steps = int(metadata["trial_id"]), int(metadata["steps"])
            parameters = {metaparameter_name(name): value for name, value in metadata["parameters"].items()}
        with legible(folder / "measurements.csv"):
            asked = [row for row in rows if int(row[STEP]) > 0]
            yield TrialResult(
                number=trial,
                metaparameters=parameters,
                outcomes={goal: _outcome(asked, goal, measure, status, steps) for goal in goals},
                steps=steps,
                images_looked_at=0,
                test_errors=_test_errors(asked, goals, measure),
                log=tuple(log_entries(rows)),
            )
    if passed_over:
        logger.warning("%s: %d trials were broken off for reasons unknown, and are left out", cell.folder, passed_over)


def _outcome(rows: Rows, goal: float, measure: str, status: str, steps: int) -> Outcome:
    last = 0
    for row in rows:
        if _met(row, goal, measure):
            return Complete(int(row[STEP]), last)
        last = int(row[STEP])
    return Infeasible(steps) if status == "INFEASIBLE" else Incomplete(steps)


def _test_errors(rows: Rows, goals: Sequence[float], measure: str) -> dict[float, float]:
    found = {}
    for goal in goals:
        first = next((row for row in rows if _met(row, goal, measure)), {})
        error = number(first.get(TEST_ERROR))
        if error is not None:
            found[goal] = error
    return found


def _met(row: Mapping[str, str], goal: float, measure: str) -> bool:
    value = number(row[measure])
    return value is not None and value <= goal + ROUNDING
