"""What the charts are drawn from, as plain data: curves, ratios and clouds of one study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsity.analysis import CellAnalysis, CurveAnalysis, Estimate, Ratios, StudyAnalysis
from parsity.metaparameters import Choice, Scale
from parsity.planning import Plan
from parsity.report.page.numbers import called
from parsity.report.page.reported import ReportedStudy
from parsity.results import CellResult

KINDS = {"Linear": "linear", "Log": "log", "ReverseLog": "reverse-log", "Integer": "linear"}


def charted(study: ReportedStudy, analysis: StudyAnalysis) -> dict[str, Any]:
    """One study's part of the page's data."""
    cells = sorted(study.measured.cells, key=lambda cell: (cell.batch_size, cell.sparsity))
    sparsities = sorted({cell.sparsity for cell in study.progress} | {cell.sparsity for cell in cells})
    return {
        "name": study.name,
        "goals": list(study.goals),
        "sparsities": sparsities,
        "called": [called(sparsity) for sparsity in sparsities],
        "batches": sorted({cell.batch_size for cell in study.progress} | {cell.batch_size for cell in cells}),
        "curves": [_curve(curve) for curve in analysis.curves if curve.goal in study.goals],
        "ratios": [ratio(one) for one in analysis.ratios if one.goal in study.goals],
        "plans": [_plan(plan) for plan in study.plans],
        "axes": [_axis(study, name) for name in study.searched],
        **_clouds(study, cells),
    }


def ratio(found: Ratios) -> dict[str, Any]:
    """Steps of one curve over those of another, by batch size."""
    return {
        "goal": found.goal,
        "sparsity": found.sparsity,
        "against": found.against,
        "points": [{"b": point.batch_size, **_sides(point.ratio)} for point in found.points],
    }


def _curve(curve: CurveAnalysis) -> dict[str, Any]:
    scaling = curve.scaling
    normal = {point.batch_size: point for point in curve.normalised}
    return {
        "goal": curve.goal,
        "sparsity": curve.sparsity,
        "c1": scaling.c1.value if scaling else None,
        "c2": scaling.c2.value if scaling else None,
        "points": [
            {
                **_point(cell),
                "relative": normal[cell.batch_size].relative_steps if cell.batch_size in normal else None,
            }
            for cell in curve.cells
        ],
    }


def _point(cell: CellAnalysis) -> dict[str, Any]:
    steps = cell.steps
    return {
        "b": cell.batch_size,
        **_sides(steps.estimate),
        "miss": steps.last_miss,
        "winner": steps.winner,
        "mp": dict(steps.metaparameters) if steps.metaparameters else None,
        "counts": dict(steps.counts),
        "test": steps.test_error,
        "n": steps.trials,
        "regime": cell.scaling.regime,
        "speedup": cell.scaling.speedup.value,
        "ideal": cell.scaling.ideal,
        "warning": steps.warning,
    }


def _plan(plan: Plan) -> dict[str, Any]:
    """Times to the goal against workers."""
    return {
        "goal": plan.goal,
        "lines": [
            {
                "sparsity": line.sparsity,
                "points": [
                    {
                        "w": point.workers,
                        "b": point.batch_size,
                        "step": point.step.seconds,
                        "exchange": point.step.exchange / point.step.seconds,
                        "cost": point.worker_seconds.value,
                        **_sides(point.seconds),
                    }
                    for point in line.points
                ],
            }
            for line in plan.lines
        ],
    }


def _sides(estimate: Estimate) -> dict[str, Any]:
    return {"v": estimate.value, "low": estimate.low, "high": estimate.high, "why": estimate.open_because}


def _axis(study: ReportedStudy, name: str) -> dict[str, Any]:
    """How a metaparameter's axis is drawn: its scale and its ends, of the space or of what was tried."""
    scale = study.measured.space.scales.get(name) if study.measured.space else None
    values = [trial.metaparameters.get(name) for cell in study.measured.cells for trial in cell.trials]
    numbers = [value for value in values if isinstance(value, (int, float))]
    found = {"name": name, "label": name.replace("_", " "), "kind": _kind(scale, numbers, name)}
    if found["kind"] == "category" or not numbers:
        return {**found, "kind": "category"}
    low, high = getattr(scale, "low", min(numbers)), getattr(scale, "high", max(numbers))
    return {**found, "low": min(low, *numbers), "high": max(high, *numbers)}


def _kind(scale: Scale | None, numbers: list[float], name: str) -> str:
    if isinstance(scale, Choice):
        return "category"
    if scale is not None:
        return KINDS[type(scale).__name__]
    if name == "momentum" and numbers and max(numbers) < 1:
        return "reverse-log"
    return "log" if numbers and min(numbers) > 0 else "linear"


def _clouds(study: ReportedStudy, cells: list[CellResult]) -> dict[str, Any]:
    """Every trial: where it was searched, once, and how it ended in each cell for each goal."""
    tried: dict[tuple[Any, ...], int] = {}
    clouds = []
    for cell in cells:
        rows = []
        for trial in cell.trials:
            place = tuple(trial.metaparameters.get(name) for name in study.searched)
            ends: list[Any] = []
            for goal in study.goals:
                outcome = trial.outcomes.get(goal)
                ends += [outcome.status[:3], outcome.step] if outcome else [None, None]
            rows.append([trial.number, tried.setdefault(place, len(tried)), *ends])
        winners = [_winner(cell, goal) for goal in study.goals]
        clouds.append({"b": cell.batch_size, "s": cell.sparsity, "winners": winners, "trials": rows})
    return {"tried": [list(place) for place in tried], "clouds": clouds}


def _winner(cell: CellResult, goal: float) -> int | None:
    winner = cell.winner(goal) if goal in cell.goals else None
    return winner.number if winner else None


def comparisons(found: tuple[Ratios, ...]) -> list[Mapping[str, Any]]:
    """Studies against each other."""
    return [{"upper": one.upper, "lower": one.lower, **ratio(one)} for one in found]
