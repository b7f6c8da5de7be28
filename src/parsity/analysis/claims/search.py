"""Claims about the best metaparameters: where they lie, and how they move with the batch."""

from __future__ import annotations

from collections.abc import Sequence

from parsity.analysis.analysed import Worked
from parsity.analysis.claims.verdicts import Case, Verdict, spoken

INSIDE, CHANCE, AT_EDGE = 0.8, 0.05, 0.1
"""Of a study's best values, so many inside and so few at an edge support the claim; more at an edge refute it."""
FLAT = 0.01
"""A learning rate whose slope is below this does not grow."""


def best_interior(studies: Sequence[Worked]) -> list[Case]:
    """How many of the best points lie near an edge of the search space, over all cells of a study."""
    cases = []
    for one in studies:
        for goal in one.goals:
            edges = [
                edge
                for curve in one.analysis.curves
                if curve.goal == goal
                for cell in curve.cells
                for edge in cell.edges
            ]
            if not edges:
                continue
            inside = sum(edge.verdict == "interior" for edge in edges) / len(edges)
            at_edge = sum(edge.verdict in ("low", "high") for edge in edges) / len(edges)
            verdict: Verdict = "cannot be said"
            if at_edge > AT_EDGE:
                verdict = "does not"
            elif at_edge <= CHANCE and inside >= INSIDE:
                verdict = "holds"
            where = sorted(
                {f"{edge.metaparameter} {edge.verdict}" for edge in edges if edge.verdict in ("low", "high")}
            )
            cases.append(
                Case(
                    study=one.study.name,
                    goal=goal,
                    sparsity=None,
                    verdict=verdict,
                    why=f"of {len(edges)} best values {inside:.0%} are inside and {at_edge:.0%} at an edge"
                    + (f": {', '.join(where)}" if where else ""),
                    numbers={"inside": inside, "at an edge": at_edge},
                )
            )
    return cases


def best_rate_grows(studies: Sequence[Worked]) -> list[Case]:
    """The slope of log(best learning rate) on log(batch size); with momentum that of lr / (1 - momentum)."""
    cases = []
    for one in studies:
        for curve in one.analysis.curves:
            found = {best.quantity: best for best in curve.best}
            name = "effective_learning_rate" if "effective_learning_rate" in found else "learning_rate"
            if name not in found:
                continue
            slope = found[name].slope
            verdict: Verdict = "holds" if slope.above(0) else "does not" if slope.below(FLAT) else "cannot be said"
            cases.append(
                Case(
                    study=one.study.name,
                    goal=curve.goal,
                    sparsity=curve.sparsity,
                    verdict=verdict,
                    why=f"best {name.replace('_', ' ')} grows as the batch to the power {spoken(slope)}; "
                    f"rule: {found[name].rule}",
                    numbers={"slope": slope, **{other: best.slope for other, best in found.items()}},
                )
            )
    return cases
