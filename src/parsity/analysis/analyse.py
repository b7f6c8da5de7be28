"""Everything at once: `analyse(studies)` gives one tree of values for figures, report and command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from parsity.analysis.analysed import CellAnalysis, CurveAnalysis, StudyAnalysis, Worked
from parsity.analysis.best import best_against_batch, searched
from parsity.analysis.boundary import advise, edge_verdicts, to_paste
from parsity.analysis.budget import best_of, cell_budget, curve_budget
from parsity.analysis.claims import Claim, evaluate
from parsity.analysis.curve import curves
from parsity.analysis.estimate import LEVEL, plain
from parsity.analysis.landmarks import cell_scalings, landmarks
from parsity.analysis.measured import MeasuredStudy
from parsity.analysis.ratios import Ratios, normalised, ratios
from parsity.analysis.region import feasible_range, shares
from parsity.analysis.resampling import DRAWS, CurveDraws, Resampling, draw
from parsity.analysis.scaling import FittedCurve, fit_scaling
from parsity.analysis.seconds import seconds_to_result
from parsity.analysis.steps import steps_to_result

RANGES = ("learning_rate", "effective_learning_rate")


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """Studies analysed: what the report, the figures and the command line read.

    ``comparisons`` are K* of one study over that of another with the same data and network, where goals are the same.
    """

    studies: tuple[StudyAnalysis, ...]
    comparisons: tuple[Ratios, ...]
    claims: tuple[Claim, ...]
    draws: int
    seed: int
    level: float = LEVEL

    def to_plain(self) -> dict[str, Any]:
        """The whole tree as plain data for JSON."""
        found: dict[str, Any] = plain(self)
        return found

    def study(self, name: str) -> StudyAnalysis | None:
        """The study called ``name``."""
        return next((one for one in self.studies if one.name == name), None)


def analyse(studies: Sequence[MeasuredStudy], *, draws: int = DRAWS, seed: int = 0) -> Analysis:
    """Analyse studies together. The same studies, draws and seed give the same numbers, to the last digit."""
    worked = [_work(study, draws, seed + place) for place, study in enumerate(studies)]
    return Analysis(
        studies=tuple(one.analysis for one in worked),
        comparisons=tuple(_comparisons(worked)),
        claims=evaluate(worked),
        draws=draws,
        seed=seed,
    )


def _work(study: MeasuredStudy, draws: int, seed: int) -> Worked:
    found = curves(study.cells, study.name)
    resampling = Resampling(found, draws=draws, seed=seed)
    drawn = tuple(draw(curve, resampling) for curve in found)
    fits = tuple(fit_scaling(curve) for curve in drawn)
    analysed = tuple(_curve(study, one, fitted) for one, fitted in zip(drawn, fits, strict=True))
    edges = [edge for curve in analysed for cell in curve.cells for edge in cell.edges]
    advice = advise(edges, study.space) if study.space is not None else ()
    planned = study.planned_trials or max((curve.trials for curve in found), default=0)
    short = {(c.batch_size, c.sparsity) for curve in found for c in curve.cells if c.n < planned}
    short |= {(cell.batch_size, cell.sparsity) for cell in study.cells if not cell.trials}
    return Worked(
        study=study,
        draws=drawn,
        fits=fits,
        analysis=StudyAnalysis(
            name=study.name,
            curves=analysed,
            ratios=tuple(_ratios(drawn)),
            advice=advice,
            space_to_try=to_paste(advice, study.space) if study.space is not None else "",
            seconds=seconds_to_result(study, drawn, seed=seed),
            unfinished=tuple(sorted(short)),
        ),
    )


def _curve(study: MeasuredStudy, drawn: CurveDraws, fitted: FittedCurve | None) -> CurveAnalysis:
    curve = drawn.curve
    scaling = fitted.scaling if fitted is not None else None
    quantities = searched(curve)
    cells = tuple(
        CellAnalysis(
            batch_size=cell.batch_size,
            steps=steps_to_result(cell, draws),
            best_of=best_of(cell, draws),
            budget=cell_budget(draws) if draws is not None else None,
            scaling=here,
            shares=shares(cell),
            ranges=tuple(
                found for name in RANGES if name in quantities and (found := feasible_range(cell, name)) is not None
            ),
            edges=edge_verdicts(cell, study.space) if study.space is not None else (),
        )
        for cell, draws, here in zip(curve.cells, drawn.cells, cell_scalings(drawn, fitted), strict=True)
    )
    return CurveAnalysis(
        goal=curve.goal,
        sparsity=curve.sparsity,
        cells=cells,
        scaling=scaling,
        landmarks=landmarks(fitted, curve.trials) if fitted is not None else None,
        budget=curve_budget(drawn),
        best=tuple(best_against_batch(curve, name) for name in quantities),
        normalised=normalised(drawn, scaling),
    )


def _ratios(drawn: Sequence[CurveDraws]) -> list[Ratios]:
    found = []
    for goal in sorted({one.curve.goal for one in drawn}):
        least, *others = [one for one in drawn if one.curve.goal == goal]
        found += [ratio for other in others if (ratio := ratios(other, least)) is not None]
    return found


def _comparisons(worked: Sequence[Worked]) -> list[Ratios]:
    """Each pair of studies once, the later over the earlier, at every goal and sparsity they share."""
    found = []
    for one, other in combinations(worked, 2):
        if not one.study.alike(other.study):
            continue
        for upper in other.draws:
            lower = one.drawn(upper.curve.goal, upper.curve.sparsity)
            if lower is not None and (ratio := ratios(upper, lower[0])) is not None:
                found.append(ratio)
    return found
