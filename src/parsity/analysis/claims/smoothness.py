"""Claims about smoothness, where it was measured: the local Lipschitz constant, and c1 by delta x beta x L."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from parsity.analysis.analysed import Worked
from parsity.analysis.claims.verdicts import Case, Verdict, spoken
from parsity.analysis.estimate import Estimate
from parsity.analysis.measured import Constants
from parsity.analysis.scaling import parameter_ratio
from parsity.analysis.smooth import lipschitz_ratio, predicted_ratios


def lipschitz_rises(studies: Sequence[Worked]) -> list[Case]:
    """Strictly from each sparsity measured to the next."""
    cases = []
    for one in studies:
        measured = sorted(one.study.constants.items())
        if len(measured) < 2:
            continue
        verdict = _rising(one, [constants.lipschitz for _, constants in measured])
        cases.append(
            Case(
                study=one.study.name,
                goal=None,
                sparsity=measured[-1][0],
                verdict=verdict,
                why="L is " + ", ".join(f"{_lipschitz(c)} at {s:g}" for s, c in measured),
                numbers={f"L at {s:g}": c.lipschitz_estimate or c.lipschitz for s, c in measured},
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
            predicted = _predicted(one, sparsity)
            fitted = _fitted(one, sparsity)
            verdict: Verdict = "holds" if ratio > 1 else "does not"
            unsure = predicted is not None and predicted.covers(1)
            # Where the fit says the contrary with certainty, neither is believed.
            if unsure or (ratio > 1 and any(e.below(1) for e in fitted)):
                verdict = "cannot be said"
            if ratio <= 1 and any(e.above(1) for e in fitted):
                verdict = "cannot be said"
            said = f"{ratio:.2f}" if predicted is None else spoken(predicted)
            beside = "; ".join(f"fitted {spoken(estimate)}" for estimate in fitted)
            cases.append(
                Case(
                    study=one.study.name,
                    goal=None,
                    sparsity=sparsity,
                    verdict=verdict,
                    why=f"delta x beta x L is {said} times that of dense" + (f"; {beside}" if beside else ""),
                    numbers={"ratio": predicted or ratio}
                    | {f"fitted {i}": estimate for i, estimate in enumerate(fitted, 1)},
                )
            )
    return cases


def _rising(one: Worked, values: Sequence[float]) -> Verdict:
    """It rises for certain where each ratio to the sparsity before lies above 1, interval and all."""
    curves = one.study.smoothness.curves if one.study.smoothness else ()
    ratios = [lipschitz_ratio(later, earlier) for earlier, later in pairwise(curves) if earlier.points and later.points]
    if any(ratio.below(1) for ratio in ratios) or values[-1] <= values[0]:
        return "does not"
    rising = all(later > earlier for earlier, later in pairwise(values))
    return "holds" if rising and all(ratio.above(1) for ratio in ratios) else "cannot be said"


def _lipschitz(constants: Constants) -> str:
    estimate = constants.lipschitz_estimate
    return spoken(estimate, ".3g") if estimate is not None else f"{constants.lipschitz:.3g} (n = {constants.n})"


def _predicted(one: Worked, sparsity: float) -> Estimate | None:
    if one.study.smoothness is None:
        return None
    return next((found.c1 for found in predicted_ratios(one.study.smoothness) if found.sparsity == sparsity), None)


def _fitted(one: Worked, sparsity: float) -> list[Estimate]:
    found = []
    for goal in one.goals:
        dense, sparse = one.drawn(goal, 0.0), one.drawn(goal, sparsity)
        if dense is not None and sparse is not None and dense[1] is not None and sparse[1] is not None:
            found.append(parameter_ratio(sparse[1], dense[1], "c1", sparse[0].curve.trials))
    return found
