"""Claims about curves: their shape, the cost of sparsity, the critical batch, optimisers."""

from __future__ import annotations

from collections.abc import Sequence

from parsity.analysis.analysed import CurveAnalysis, Worked
from parsity.analysis.claims.verdicts import Case, Verdict, spoken
from parsity.analysis.estimate import Estimate
from parsity.analysis.ratios import ratios
from parsity.analysis.scaling import parameter_ratio, scatter_ratio

FITS, FAILS = 1 / 3, 1 / 2
"""Octaves of residual up to which a curve has the shape, and beyond which it has not."""
FEWEST_CELLS = 5
RANGE = (1.5, 4.5)
SPARSE = 0.9
FALLS = 0.01
"""A ratio that changes by less than this many octaves per doubling does not change."""
NOT_LESS = 0.9
"""Not smaller by more than a tenth counts as at least as large: equality cannot be proved."""
MNIST, FACTOR = {0.0: 512.0, SPARSE: 2048.0}, 2.0


def universal_scaling(studies: Sequence[Worked]) -> list[Case]:
    """Each curve: the formula, or a knee, fits within 1/3 octave, from a linear first cell to a flat last one."""
    return [_shape(one.study.name, curve) for one in studies for curve in one.analysis.curves]


def _shape(study: str, curve: CurveAnalysis) -> Case:
    def case(verdict: Verdict, why: str, **numbers: Estimate | float | None) -> Case:
        return Case(study=study, goal=curve.goal, sparsity=curve.sparsity, verdict=verdict, why=why, numbers=numbers)

    measured = len(curve.scaling.batch_sizes) if curve.scaling is not None else 0
    if curve.scaling is None or measured < FEWEST_CELLS:
        return case("cannot be said", f"fewer than {FEWEST_CELLS} batch sizes have a K*")
    knee = curve.scaling.knee
    refuted = knee.verdict in ("sharper", "softer")
    residual = knee.residual if refuted else curve.scaling.residual
    cells = [cell.scaling for cell in curve.cells if cell.batch_size in curve.scaling.batch_sizes]
    first, last = cells[0], cells[-1]
    numbers = {"residual in octaves": residual, "first slope": first.slope, "last slope": last.slope}
    fits = f"fits within {residual:.2f} octave"
    if residual > FAILS:
        return case("does not", f"no such curve {fits}", **numbers)
    if residual > FITS:
        return case("cannot be said", f"such a curve only {fits}", **numbers)
    if first.regime == "linear" and last.regime == "maximal":
        return case("holds", f"such a curve {fits}, linear at {first.batch_size}, flat at {last.batch_size}", **numbers)
    missing = [
        word for word, seen in (("linear", first.regime == "linear"), ("flat", last.regime == "maximal")) if not seen
    ]
    return case(
        "cannot be said", f"such a curve {fits}, but no {' and no '.join(missing)} part was measured", **numbers
    )


def ratio_of_sparse(studies: Sequence[Worked]) -> list[Case]:
    """90 % sparse over dense: the whole interval of the mean, and the ratio at every batch size, within 1.5 to 4.5."""
    cases = []
    low, high = RANGE
    for one in studies:
        for found in one.analysis.ratios:
            if (found.sparsity, found.against) != (SPARSE, 0.0):
                continue
            outside = [
                p.batch_size for p in found.points if p.ratio.value is not None and not low <= p.ratio.value <= high
            ]
            surely = [p.batch_size for p in found.points if p.ratio.below(low) or p.ratio.above(high)]
            values = [p.ratio.value for p in found.points if p.ratio.value is not None]
            mean = found.believed_mean
            sizes = f"{len(values)} batch size{'s' if len(values) > 1 else ''}"
            span = f"{min(values):.2f} to {max(values):.2f} over {sizes}, mean {spoken(mean)}"
            # One in twenty intervals misses by chance alone.
            if mean.below(low) or mean.above(high) or len(surely) > max(1, len(values) // 10):
                verdict: Verdict = "does not"
            elif not outside and mean.above(low) and mean.below(high):
                verdict = "holds"
            else:
                verdict = "cannot be said"
            cases.append(
                Case(
                    study=one.study.name,
                    goal=found.goal,
                    sparsity=found.sparsity,
                    verdict=verdict,
                    why=span + (f"; outside at {', '.join(map(str, outside))}" if outside else ""),
                    numbers={"mean ratio": mean, "least": min(values), "most": max(values)},
                )
            )
    return cases


def ratio_falls(studies: Sequence[Worked]) -> list[Case]:
    """The slope of log ratio on log batch, for momentum and nesterov and the sparsest curve of each goal."""
    cases = []
    for one in studies:
        if one.study.optimiser not in ("momentum", "nesterov"):
            continue
        for goal in one.goals:
            some = [found for found in one.analysis.ratios if found.goal == goal and found.against == 0.0]
            if not some:
                continue
            found = max(some, key=lambda ratio: ratio.sparsity)
            slope = found.believed_slope
            verdict: Verdict = "holds" if slope.below(0) else "does not" if slope.above(-FALLS) else "cannot be said"
            why = f"octaves of ratio per doubling of the batch: {spoken(slope, '.3f')}"
            cases.append(
                Case(
                    study=one.study.name,
                    goal=goal,
                    sparsity=found.sparsity,
                    verdict=verdict,
                    why=why,
                    numbers={"slope": slope},
                )
            )
    return cases


def critical_batch(studies: Sequence[Worked]) -> list[Case]:
    """c1/c2 of each sparse curve over that of the dense one, resampled together."""
    cases = []
    for one in studies:
        for goal in one.goals:
            dense = one.drawn(goal, 0.0)
            for draws in one.of_goal(goal):
                sparsity = draws.curve.sparsity
                sparse = one.drawn(goal, sparsity)
                if not sparsity or dense is None or sparse is None or dense[1] is None or sparse[1] is None:
                    continue
                ratio = parameter_ratio(sparse[1], dense[1], "critical", draws.curve.trials)
                ratio = ratio.or_else(scatter_ratio(sparse[1].scaling, dense[1].scaling))
                verdict: Verdict = (
                    "holds" if ratio.above(NOT_LESS) else "does not" if ratio.below(1) else "cannot be said"
                )
                cases.append(
                    Case(
                        study=one.study.name,
                        goal=goal,
                        sparsity=sparsity,
                        verdict=verdict,
                        why=f"critical batch over that of dense: {spoken(ratio)}",
                        numbers={"ratio": ratio},
                    )
                )
    return cases


def critical_batch_of_mnist(studies: Sequence[Worked]) -> list[Case]:
    """The end of linear scaling, its whole interval within a factor of two of what the paper reads off."""
    cases = []
    for one in studies:
        if (one.study.data, one.study.network, one.study.optimiser) != ("mnist", "simple-cnn", "momentum"):
            continue
        for curve in one.analysis.curves:
            about = MNIST.get(curve.sparsity)
            if about is None or curve.landmarks is None:
                continue
            end = curve.landmarks.end_of_linear
            if curve.scaling is not None:  # by the formula that is c1/c2
                end = end.or_else(curve.scaling.scatter_critical_batch)
            near = end.above(about / FACTOR) and end.below(about * FACTOR)
            far = end.above(about * FACTOR) or end.below(about / FACTOR)
            cases.append(
                Case(
                    study=one.study.name,
                    goal=curve.goal,
                    sparsity=curve.sparsity,
                    verdict="holds" if near else "does not" if far else "cannot be said",
                    why=f"linear scaling ends at {spoken(end, '.0f')}; the paper reads {about:.0f}",
                    numbers={"end of linear scaling": end, "paper": about},
                )
            )
    return cases


def momentum_beats_sgd(studies: Sequence[Worked]) -> list[Case]:
    """K* of momentum or nesterov over K* of sgd, at the largest batch that both have, for each sparsity."""
    cases = []
    for sgd in studies:
        for one in studies:
            if sgd.study.optimiser != "sgd" or one.study.optimiser not in ("momentum", "nesterov"):
                continue
            if not one.study.alike(sgd.study) or one.study.schedule != sgd.study.schedule:
                continue
            for draws in one.draws:
                other = sgd.drawn(draws.curve.goal, draws.curve.sparsity)
                found = ratios(draws, other[0]) if other is not None else None
                if found is None:
                    continue
                size, last = found.points[-1].batch_size, found.believed_last
                cases.append(
                    Case(
                        study=f"{one.study.name} and {sgd.study.name}",
                        goal=found.goal,
                        sparsity=found.sparsity,
                        verdict="holds" if last.below(1) else "does not" if last.above(1) else "cannot be said",
                        why=f"steps over those of sgd at batch {size}: {spoken(last)}",
                        numbers={"ratio": last, "batch size": float(size)},
                    )
                )
    return cases
