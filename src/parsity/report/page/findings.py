"""The few numbers of one study and goal that the page's first words are about."""

from __future__ import annotations

from dataclasses import dataclass

from parsity.analysis import Analysis, Case, CurveAnalysis, Ratios, StudyAnalysis
from parsity.report.page.reported import ReportedStudy


@dataclass(frozen=True)
class Finding:
    """What is known of one study for one goal."""

    study: ReportedStudy
    analysis: StudyAnalysis
    whole: Analysis
    goal: float

    @property
    def curves(self) -> tuple[CurveAnalysis, ...]:
        """The curves, the least sparse first."""
        return tuple(curve for curve in self.analysis.curves if curve.goal == self.goal)

    @property
    def reached(self) -> tuple[CurveAnalysis, ...]:
        """The curves on which some cell has reached the goal."""
        return tuple(curve for curve in self.curves if any(cell.steps.steps for cell in curve.cells))

    @property
    def ratios(self) -> tuple[Ratios, ...]:
        """Each sparsity against the least one."""
        return tuple(one for one in self.analysis.ratios if one.goal == self.goal)

    def shape(self, sparsity: float) -> Case | None:
        """What the analysis says about the shape of one curve."""
        for claim in self.whole.claims:
            if claim.key == "universal-scaling":
                for case in claim.cases:
                    if (case.study, case.goal, case.sparsity) == (self.study.name, self.goal, sparsity):
                        return case
        return None


def headline_goal(study: ReportedStudy, analysis: StudyAnalysis) -> float:
    """The goal to begin with: the hardest that has a fit, or else a result, or else the hardest."""
    fitted = [curve.goal for curve in analysis.curves if curve.scaling is not None]
    some = [curve.goal for curve in analysis.curves if any(cell.steps.steps for cell in curve.cells)]
    every = [goal for goal in study.goals if goal in fitted] or [goal for goal in study.goals if goal in some]
    return min(every or study.goals)
