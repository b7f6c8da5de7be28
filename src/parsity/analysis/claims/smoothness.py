"""Claims about smoothness, where it was measured: the local Lipschitz constant, and c1 by delta x beta x L."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from parsity.analysis.analysed import Worked
from parsity.analysis.claims.verdicts import Case, Verdict, spoken
from parsity.analysis.estimate import Estimate
from parsity.analysis.scaling import parameter_ratio


def lipschitz_rises(studies: Sequence[Worked]) -> list[Case]:
    """Strictly from each sparsity measured to the next."""
    cases = []
    for one in studies:
        measured = sorted(one.study.constants.items())
        if len(measured) < 2:
            continue
        values = [constants.lipschitz for _, constants in measured]
        rising = all(later > earlier for earlier, later in pairwise(values))
        verdict: Verdict = "holds" if rising else "does not" if values[-1] <= values[0] else "cannot be said"
        cases.append(
            Case(
                study=one.study.name,
                goal=None,
                sparsity=measured[-1][0],
                verdict=verdict,
                why="L is " + ", ".join(f"{c.lipschitz:.3g} at {s:g} (n = {c.n})" for s, c in measured),
                numbers={f"L at {sparsity:g}": constants.lipschitz for sparsity, constants in measured},
            )
        )
    return cases


def c1_rises(studies: Sequence[Worked]) -> list[Case]:
    """The ratio of delta x beta x L, beside that of the fitted c1."""
    cases = []
    for one in studies:
        dense = one.study.constants.get(0.0)
        for sparsity, constants in sorted(one.study.constants.items()):
            if not sparsity or dense is None or not dense.product or constants.product is None:
                continue
            ratio = constants.product / dense.product
            fitted = _fitted(one, sparsity)
            verdict: Verdict = "holds" if ratio > 1 else "does not"
            # Where the fit says the contrary with certainty, neither is believed.
            if (ratio > 1 and any(e.below(1) for e in fitted)) or (ratio <= 1 and any(e.above(1) for e in fitted)):
                verdict = "cannot be said"
            beside = "; ".join(f"fitted {spoken(estimate)}" for estimate in fitted)
            cases.append(
                Case(
                    study=one.study.name,
                    goal=None,
                    sparsity=sparsity,
                    verdict=verdict,
                    why=f"delta x beta x L is {ratio:.2f} times that of dense" + (f"; {beside}" if beside else ""),
                    numbers={"ratio": ratio} | {f"fitted {i}": estimate for i, estimate in enumerate(fitted, 1)},
                )
            )
    return cases


def _fitted(one: Worked, sparsity: float) -> list[Estimate]:
    found = []
    for goal in one.goals:
        dense, sparse = one.drawn(goal, 0.0), one.drawn(goal, sparsity)
        if dense is not None and sparse is not None and dense[1] is not None and sparse[1] is not None:
            found.append(parameter_ratio(sparse[1], dense[1], "c1", sparse[0].curve.trials))
    return found
