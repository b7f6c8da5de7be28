"""What is found about one study, as a tree of values."""

from __future__ import annotations

from dataclasses import dataclass

from parsity.analysis.best import BestAgainstBatch
from parsity.analysis.boundary import EdgeVerdict, SpaceAdvice
from parsity.analysis.budget import BestOf, Budget
from parsity.analysis.landmarks import CellScaling, Landmarks
from parsity.analysis.measured import MeasuredStudy
from parsity.analysis.ratios import NormalisedPoint, Ratios
from parsity.analysis.region import FeasibleRange, Shares
from parsity.analysis.resampling import CurveDraws
from parsity.analysis.scaling import FittedCurve, Scaling
from parsity.analysis.seconds import SecondsToResult
from parsity.analysis.steps import StepsToResult


@dataclass(frozen=True, kw_only=True)
class CellAnalysis:
    """One cell, for one goal."""

    batch_size: int
    steps: StepsToResult
    best_of: tuple[BestOf, ...]
    budget: Budget | None
    scaling: CellScaling
    shares: Shares
    ranges: tuple[FeasibleRange, ...]
    edges: tuple[EdgeVerdict, ...]


@dataclass(frozen=True, kw_only=True)
class CurveAnalysis:
    """One curve: a workload, a goal and a sparsity over the batch size."""

    goal: float
    sparsity: float
    cells: tuple[CellAnalysis, ...]
    scaling: Scaling | None
    landmarks: Landmarks | None
    budget: Budget
    best: tuple[BestAgainstBatch, ...]
    normalised: tuple[NormalisedPoint, ...]


@dataclass(frozen=True, kw_only=True)
class StudyAnalysis:
    """One study; ``ratios`` are of each sparsity against the least one, for each goal."""

    name: str
    curves: tuple[CurveAnalysis, ...]
    ratios: tuple[Ratios, ...]
    advice: tuple[SpaceAdvice, ...]
    space_to_try: str
    """A ``[space]`` table to paste into a study file, where the search space was too small."""
    seconds: tuple[SecondsToResult, ...]
    """For each goal, where steps were timed."""
    unfinished: tuple[tuple[int, float], ...]
    """The cells (batch size, sparsity) that have fewer trials than planned, or than the largest cell."""

    def curve(self, goal: float, sparsity: float) -> CurveAnalysis | None:
        """The curve of ``goal`` and ``sparsity``."""
        return next((one for one in self.curves if (one.goal, one.sparsity) == (goal, sparsity)), None)


@dataclass(frozen=True, eq=False)
class Worked:
    """A study with its draws and fits, while it is being analysed."""

    study: MeasuredStudy
    draws: tuple[CurveDraws, ...]
    fits: tuple[FittedCurve | None, ...]
    analysis: StudyAnalysis

    def drawn(self, goal: float, sparsity: float) -> tuple[CurveDraws, FittedCurve | None] | None:
        """The draws and the fit of one curve."""
        for draws, fit in zip(self.draws, self.fits, strict=True):
            if (draws.curve.goal, draws.curve.sparsity) == (goal, sparsity):
                return draws, fit
        return None

    def of_goal(self, goal: float) -> tuple[CurveDraws, ...]:
        """The curves of one goal, the least sparse first."""
        return tuple(draws for draws in self.draws if draws.curve.goal == goal)

    @property
    def goals(self) -> tuple[float, ...]:
        """The goals, ascending."""
        return tuple(sorted({draws.curve.goal for draws in self.draws}))
