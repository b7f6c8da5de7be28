"""Export to the layout of Shallue et al. (2019): their notebook reads it.

A race knows of an error whether it is above a goal, and the error itself only where a log was kept. So
``measurements.csv`` has a column ``val/met_goal_0.02`` for each goal, 1 where it was met and 0 where it was missed, and
errors where there is a log; a cell that nothing is known of stays empty. Their ``compute_steps_to_result(table,
"val/met_goal_0.02", 0.5, maximize=True)`` then gives K*.

Their COMPLETE means that a trial ran as long as it was meant to. Here these are the trials that reached a goal or the
step limit; outpaced ones are INCOMPLETE, and those that diverged before they reached any goal INFEASIBLE.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parsity.results import Complete, Incomplete, Outcome, Outpaced
from parsity.study.exporting.columns import about
from parsity.study.exporting.layout import (
    ERROR,
    KEY,
    LOSS,
    MET,
    STEP,
    parameter_configs,
    parameter_name,
    study_folder,
    workload_names,
)
from parsity.study.exporting.text import plain
from parsity.study.store import Store, StoredTrial


def write_batch_science(store: Store, folder: Path) -> None:
    """One folder per cell that has results."""
    with store.at_one_moment():
        heading, trials = about(store), store.trials()
    names = workload_names(heading["spec"])
    folder.mkdir()
    cells: dict[tuple[int, float], list[StoredTrial]] = {}
    for trial in trials:
        cells.setdefault((trial.batch_size, trial.sparsity), []).append(trial)
    for (batch_size, sparsity), some in cells.items():
        study = folder / study_folder(names, batch_size, sparsity)
        study.mkdir(parents=True)
        _write_json(study / "study.json", _study(heading, names, batch_size, sparsity, some))
        for trial in some:
            place = study / str(trial.result.number)
            place.mkdir()
            _write_json(place / "metadata.json", _metadata(trial))
            _write_measurements(place / "measurements.csv", trial)


def _study(
    heading: Mapping[str, Any],
    names: Mapping[str, str],
    batch_size: int,
    sparsity: float,
    trials: Sequence[StoredTrial],
) -> dict[str, Any]:
    spec = heading["spec"]
    return {
        "batch_size": batch_size,
        **names,
        "early_stopping": any(isinstance(o, Outpaced) for trial in trials for o in trial.result.outcomes.values()),
        "parameter_configs": parameter_configs(spec.get("space", {})),
        "train_steps": spec.get("step_limit", 0),
        "sparsity": sparsity,
        KEY: heading,
    }


def _metadata(trial: StoredTrial) -> dict[str, Any]:
    result = trial.result
    return {
        "parameters": {parameter_name(name): value for name, value in result.metaparameters.items()},
        "status": _status(list(result.outcomes.values())),
        "steps": result.steps,
        "trial_id": result.number,
        KEY: {
            "outcomes": [
                [goal, one.status, one.step, one.last_miss if isinstance(one, Complete) else None]
                for goal, one in sorted(result.outcomes.items())
            ],
            "test_errors": sorted(result.test_errors.items()),
            "images_looked_at": result.images_looked_at,
            "seconds": result.seconds,
            "step_seconds": result.step_seconds,
            "timed_steps": result.timed_steps,
            "bytes_per_step": result.bytes_per_step,
            "patience": trial.patience,
            "engine": trial.engine,
            "test": trial.test,
            "run": trial.run,
            "mask_digest": trial.mask_digest,
        },
    }


def _status(outcomes: Sequence[Outcome]) -> str:
    if any(isinstance(outcome, Complete | Incomplete) for outcome in outcomes):
        return "COMPLETE"
    return "INCOMPLETE" if any(isinstance(outcome, Outpaced) for outcome in outcomes) else "INFEASIBLE"


def _write_measurements(path: Path, trial: StoredTrial) -> None:
    goals = sorted(trial.result.outcomes)
    rows: dict[int, dict[str, float]] = {}
    for step, loss, error in trial.result.log:
        rows.setdefault(step, {}).update({LOSS: loss, ERROR: error})
    for goal in goals:
        outcome = trial.result.outcomes[goal]
        if isinstance(outcome, Complete):
            rows.setdefault(outcome.step, {})[f"{MET}{goal}"] = 1
        miss = outcome.last_miss if isinstance(outcome, Complete) else outcome.step
        # Nothing is asked at step 0, and an outpaced trial may not have been asked at its last.
        if miss and isinstance(outcome, Complete | Incomplete):
            rows.setdefault(miss, {})[f"{MET}{goal}"] = 0
    columns = [*([LOSS, ERROR] if trial.result.log else []), *(f"{MET}{goal}" for goal in goals)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([STEP, *columns])
        writer.writerows([step, *(row.get(column) for column in columns)] for step, row in sorted(rows.items()))


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(plain(data), indent=2, sort_keys=True, allow_nan=False) + "\n")
