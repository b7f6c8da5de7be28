"""Studies on disk as the page takes them, for the verbs that write it and serve it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.cli.studies import chosen, open_study, still_due
from parsity.errors import UsageError

if TYPE_CHECKING:
    from parsity.analysis import MeasuredStudy
    from parsity.report.page import ReportedStudy, SetAsideTrials
    from parsity.results import StepTimes
    from parsity.study import Overview


def make_page(
    folders: Sequence[Path], *, goal: float | None, command: str, state: str | None = None, times: Path | None = None
) -> str:
    """The page about the studies in ``folders``; with step times, it says how many workers are worth having."""
    from parsity import __version__
    from parsity.analysis import analyse
    from parsity.report.page import page
    from parsity.results import read_step_times

    studies = reported_studies(folders, goal=goal)
    if times is not None:
        studies = _planned(studies, read_step_times(times))
    analysis = analyse([study.measured for study in studies])
    written = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return page(studies, analysis, command=command, written=written, version=__version__, state=state)


def _planned(studies: Sequence[ReportedStudy], times: StepTimes) -> list[ReportedStudy]:
    """The studies with the plans that step times allow; one of several that they are not of goes without."""
    from parsity.planning import make_plan

    found = []
    for study in studies:
        try:
            plans = tuple(
                make_plan(study.measured, goal, times)
                for goal in study.goals
                if any(cell.steps_to_result(goal) is not None for cell in study.measured.cells)
            )
        except UsageError as error:
            if len(studies) == 1:
                raise
            sys.stderr.write(f"{study.name}: no plan: {error}\n")
            plans = ()
        found.append(replace(study, plans=plans))
    return found


def reported_studies(folders: Sequence[Path], *, goal: float | None = None) -> list[ReportedStudy]:
    """All that the page tells about the studies in ``folders``; of one goal alone where that is asked for."""
    from parsity.cli.measured import measured_studies

    for folder in folders:
        open_study(folder)
    return [
        _reported(folder, measured, goal) for folder, measured in zip(folders, measured_studies(folders), strict=True)
    ]


def _reported(folder: Path, measured: MeasuredStudy, goal: float | None) -> ReportedStudy:
    from parsity.report.page import CellProgress, ReportedStudy

    study = open_study(folder)
    with study.store() as store:
        seen = store.overview()
    goals = tuple(chosen(seen.spec, "goals", "--goal", goal))
    due = still_due(seen)
    return ReportedStudy(
        # Other goals need not be analysed.
        measured=replace(measured, cells=tuple(replace(cell, goals=goals) for cell in measured.cells)),
        goals=goals,
        patience=float(seen.spec["patience"]),
        progress=tuple(
            CellProgress(
                batch_size=cell.batch_size,
                sparsity=cell.sparsity,
                planned=cell.planned,
                due=len(due[cell.batch_size, cell.sparsity]),
                set_aside=len(set(cell.due) & set(cell.set_aside)),
            )
            for cell in seen.cells
        ),
        set_asides=_set_asides(seen),
        driver=study.driver,
        identity=seen.identity,
        digest=seen.digest,
        spec=_spec_text(seen, folder),
        runs=tuple({"run": number, **run} for number, run in seen.runs.items()),
        image_passes=sum(spent.image_passes for spent in seen.spent.values()),
        seconds=sum(spent.seconds for spent in seen.spent.values()),
    )


def _set_asides(seen: Overview) -> tuple[SetAsideTrials, ...]:
    """The trials of one cell that met the same end, together."""
    from parsity.report.page import SetAsideTrials
    from parsity.study.planning import ranges

    together: dict[tuple[int, float, int, str], list[int]] = {}
    for note in seen.set_asides:
        key = note.batch_size, note.sparsity, note.attempts, note.reason
        together.setdefault(key, []).append(note.number)
    return tuple(
        SetAsideTrials(
            batch_size=batch_size,
            sparsity=sparsity,
            numbers=f"trials {ranges(numbers)}",
            reason=reason,
            attempts=attempts,
        )
        for (batch_size, sparsity, attempts, reason), numbers in together.items()
    )


def _spec_text(seen: Overview, folder: Path) -> str:
    from parsity.study import StudySpec, render

    if "imported" in seen.spec:
        return json.dumps(seen.spec, indent=2, ensure_ascii=False)
    return render(StudySpec.from_document(seen.spec, str(folder)))
