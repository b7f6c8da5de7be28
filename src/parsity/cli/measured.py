"""Studies on disk as the analysis takes them, for the verbs that draw, judge and report."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.cli.studies import open_study
from parsity.errors import UsageError

if TYPE_CHECKING:
    from parsity.analysis import MeasuredStudy
    from parsity.results import Smoothness
    from parsity.study import StudySpec


def measured_study(folder: Path) -> MeasuredStudy:
    """The study in ``folder``, of one moment."""
    from parsity.analysis import MeasuredStudy, constants
    from parsity.metaparameters import Space
    from parsity.smoothness import read_smoothness
    from parsity.study import STORE, StudySpec

    if not (folder / STORE).is_file():
        found = read_smoothness(folder)
        if found is not None:
            return _smooth(found)
    with open_study(folder).store() as store, store.at_one_moment():
        document, cells = store.spec, store.cells()
    cells = tuple(cell for cell in cells if cell.trials)
    grid = len(document["batch_sizes"]) * len(document["sparsities"])
    if "imported" in document:
        # Nothing of it is due: what others left out, nobody will run.
        names, space = document["imported"], Space.from_spec(document["space"])
        return MeasuredStudy(
            name=document["name"],
            cells=cells,
            space=space if space.scales else None,
            data=names["dataset"],
            network=names["model"],
            optimiser=names["optimizer"],
            planned_trials=min((len(cell.trials) for cell in cells), default=None),
            planned_cells=len(cells),
        )
    spec = StudySpec.from_document(document, str(folder))
    found = smoothness_of(folder, spec)
    return MeasuredStudy(
        name=spec.name,
        cells=cells,
        space=spec.search_space,
        **spec.ingredients.model_dump(),
        planned_trials=spec.trials,
        planned_cells=grid,
        smoothness=found,
        constants=constants(found) if found else {},
    )


def _smooth(found: Smoothness) -> MeasuredStudy:
    """A folder of which smoothness alone was measured."""
    from parsity.analysis import MeasuredStudy, constants

    parts = {part: found.spec[part] for part in ("name", "data", "network", "optimiser", "schedule")}
    return MeasuredStudy(cells=(), smoothness=found, constants=constants(found), **parts)


def smoothness_of(folder: Path, spec: StudySpec) -> Smoothness | None:
    """What `parsity smoothness` left in a study's folder, if it is of the study's network and data."""
    from parsity.smoothness import read_smoothness

    found = read_smoothness(folder)
    if found is None:
        return None
    parts = spec.ingredients
    if (found.spec["data"], found.spec["network"]) != (parts.data, parts.network):
        sys.stderr.write(f"{folder}: smoothness was measured of another network or other data, and is left out\n")
        return None
    return found


def measured_studies(folders: Sequence[Path]) -> list[MeasuredStudy]:
    """Several of them; those of one name are told apart by their folders, or else by their place."""
    found = [measured_study(folder) for folder in folders]
    found = _told_apart(found, [folder.absolute().name for folder in folders])
    return _told_apart(found, [f"{study.name}-{place}" for place, study in enumerate(found, start=1)])


def with_goal(study: MeasuredStudy, goal: float | None) -> MeasuredStudy:
    """The study with one of its goals alone: the others need not be analysed."""
    if goal is None:
        return study
    goals = sorted({one for cell in study.cells for one in cell.goals})
    if goals and goal not in goals:
        raise UsageError(f"--goal {goal:g}: {study.name} has {', '.join(f'{one:g}' for one in goals)}")
    return replace(study, cells=tuple(replace(cell, goals=(goal,)) for cell in study.cells))


def _told_apart(studies: Sequence[MeasuredStudy], names: Sequence[str]) -> list[MeasuredStudy]:
    count = Counter(study.name for study in studies)
    pairs = zip(studies, names, strict=True)
    return [replace(study, name=name) if count[study.name] > 1 else study for study, name in pairs]
