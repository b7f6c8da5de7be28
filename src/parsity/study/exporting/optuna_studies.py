"""Optuna: one of its studies per cell and goal, minimising steps-to-result, in a journal file.

``JournalStorage(JournalFileBackend("FILE"))`` opens it. A complete trial's value is its step; a trial that did not
reach the goal, or not in time, is PRUNED, and one that diverged FAIL. Optuna counts trials from 0; the number here is
the user attribute ``trial``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parsity.results import CellResult, Complete, Outcome, TrialResult
from parsity.study.exporting.columns import about
from parsity.study.exporting.text import plain
from parsity.study.extras import needed
from parsity.study.store import Store

_STATES = {"complete": "COMPLETE", "incomplete": "PRUNED", "outpaced": "PRUNED", "infeasible": "FAIL"}


def write_optuna(store: Store, path: Path) -> None:
    """The journal file."""
    optuna = needed("optuna", extra="optuna")
    backend = needed("optuna.storages.journal", extra="optuna").JournalFileBackend
    with store.at_one_moment():
        heading, cells = about(store), store.cells()
    space = heading["spec"].get("space", {})
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = optuna.storages.JournalStorage(backend(str(path)))
        for cell in cells:
            for goal in cell.goals:
                name = f"{cell.workload}, batch size {cell.batch_size}, sparsity {cell.sparsity}, goal {goal}"
                study = optuna.create_study(study_name=name, storage=storage, direction="minimize")
                for key, value in {"digest": heading["digest"], "identity": heading["identity"]}.items():
                    study.set_user_attr(key, value)
                study.add_trials(_trials(optuna, cell, goal, space))
    finally:
        optuna.logging.set_verbosity(verbosity)


def _trials(optuna: Any, cell: CellResult, goal: float, space: Mapping[str, Any]) -> list[Any]:
    names = sorted({name for trial in cell.trials for name in trial.metaparameters})
    distributions = {
        name: _distribution(optuna.distributions, space.get(name), [t.metaparameters[name] for t in cell.trials])
        for name in names
    }
    return [_trial(optuna, trial, trial.outcomes[goal], distributions, goal) for trial in cell.trials]


def _trial(optuna: Any, trial: TrialResult, outcome: Outcome, distributions: Mapping[str, Any], goal: float) -> Any:
    attributes = {
        "trial": trial.number,
        "status": outcome.status,
        "step": outcome.step,
        "last_miss": outcome.last_miss if isinstance(outcome, Complete) else None,
        "test_error": trial.test_errors.get(goal),
        "seconds": trial.seconds,
    }
    return optuna.trial.create_trial(
        state=optuna.trial.TrialState[_STATES[outcome.status]],
        value=float(outcome.step) if isinstance(outcome, Complete) else None,
        params=dict(trial.metaparameters),
        distributions=distributions,
        user_attrs=plain(attributes),
    )


def _distribution(distributions: Any, entry: Any, values: Sequence[Any]) -> Any:
    """What Optuna has that is nearest to a scale; it has none that is dense near 1."""
    if isinstance(entry, Mapping) and "low" in entry:
        # Rounding may put a value beside its range by one unit in the last place.
        low, high = min(entry["low"], *values), max(entry["high"], *values)
        if entry["scale"] == "integer":
            return distributions.IntDistribution(low, high)
        return distributions.FloatDistribution(low, high, log=entry["scale"] == "log")
    options = entry["options"] if isinstance(entry, Mapping) else []
    return distributions.CategoricalDistribution(tuple(dict.fromkeys([*options, *values])))
