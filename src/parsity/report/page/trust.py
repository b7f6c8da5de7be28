"""Whether to trust what is said, why, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from parsity.report.page.findings import Finding
from parsity.report.page.numbers import about, called, counted, listed, measured, percent

Kind = Literal["good", "care", "bad"]
Verdict = Literal["Not yet", "As a first look", "With care", "Yes"]
KINDS: dict[Verdict, Kind] = {"Not yet": "bad", "As a first look": "care", "With care": "care", "Yes": "good"}
FIRST_LOOK = 3
"""With so many reasons for care, the whole is a first look."""


@dataclass(frozen=True)
class Reason:
    """One of them, in a sentence, and what would remove it."""

    kind: Kind
    text: str
    remedy: str = ""


def reasons(finding: Finding) -> list[Reason]:
    """All of them, the worst first."""
    found = [
        *_whole(finding),
        *_bounded(finding),
        *_shapes(finding),
        *_budgets(finding),
        *_edges(finding),
        *_resolution(finding),
    ]
    return sorted(found, key=lambda reason: ("bad", "care", "good").index(reason.kind))


def verdict(found: list[Reason]) -> Verdict:
    """All reasons together, in a few words."""
    if any(reason.kind == "bad" for reason in found):
        return "Not yet"
    cares = sum(reason.kind == "care" for reason in found)
    return "As a first look" if cares >= FIRST_LOOK else "With care" if cares else "Yes"


def _whole(finding: Finding) -> Iterator[Reason]:
    study = finding.study
    if study.unfinished:
        done = len(study.progress) - study.unfinished
        text = f"only {done} of {counted(len(study.progress), 'cell')} {'is' if done == 1 else 'are'} finished"
        yield Reason(
            "bad", f"{text if done else 'no cell is finished'}; missing trials may need fewer steps.".capitalize()
        )
    aside = sum(cell.set_aside for cell in study.progress)
    if aside:
        yield Reason("care", f"{counted(aside, 'trial was', 'trials were')} set aside, and might have won.")
    cells = [cell for curve in finding.curves for cell in curve.cells]
    missing = [cell for cell in cells if cell.steps.steps is None]
    if not study.unfinished and not finding.reached:
        yield Reason("bad", "No trial has reached the goal.")
    elif missing and finding.reached:
        yield Reason("care", f"In {len(missing)} of {counted(len(cells), 'cell')} no trial reached the goal.")
    if not study.unfinished and not aside:
        trials = sum(cell.planned for cell in study.progress)
        yield Reason("good", f"All {trials:,} trials in {counted(len(study.progress), 'cell')} were measured.")


def _bounded(finding: Finding) -> Iterator[Reason]:
    fits = [curve.scaling for curve in finding.reached if curve.scaling is not None]
    unfitted = len(finding.reached) - len(fits)
    if unfitted:
        yield Reason("care", f"{counted(unfitted, 'sparsity has', 'sparsities have')} too few batch sizes for a fit.")
    if not fits:
        return
    loose = [fit for fit in fits if not fit.critical_batch.closed]
    if not loose:
        yield Reason("good", "The trials bound the critical batch of every sparsity.")
        return
    worst = max(loose, key=lambda fit: fit.critical_batch.patience or 0).critical_batch
    of_many = "" if len(loose) == len(fits) else f" for {len(loose)} of {len(fits)} sparsities"
    remedy = ""
    if worst.patience is not None:
        remedy = f"Going on with patience {worst.patience:g} should close {'it' if len(loose) == 1 else 'them'}."
    text = f"The trials alone leave the critical batch's interval open{of_many}: {worst.open_because}."
    yield Reason("care", text, remedy)


def _shapes(finding: Finding) -> Iterator[Reason]:
    by_verdict: dict[str, list[str]] = {}
    for curve in finding.curves:
        case = finding.shape(curve.sparsity)
        if case is not None:
            by_verdict.setdefault(case.verdict, []).append(f"{called(curve.sparsity)}: {case.why}")
    if by_verdict.get("does not"):
        text = "; ".join(by_verdict["does not"])
        yield Reason("care", f"The formula c1/B + c2 does not describe every curve ({text}).")
    elif by_verdict.get("cannot be said"):
        text = "; ".join(by_verdict["cannot be said"])
        yield Reason("care", f"Whether c1/B + c2 describes every curve cannot be said ({text}).")
    elif by_verdict:
        yield Reason("good", "Every curve has the shape that c1/B + c2 leads one to expect.")
    for curve in finding.curves:
        knee = curve.scaling.knee if curve.scaling is not None else None
        if knee is not None and knee.verdict in ("sharper", "softer"):
            text = f"{called(curve.sparsity).capitalize()}, a {knee.verdict} knee fits better"
            yield Reason("care", f"{text}; by it, the critical batch is about {about(knee.critical_batch)}.")


def _budgets(finding: Finding) -> Iterator[Reason]:
    found = [(curve, curve.budget) for curve in finding.reached]
    more = [called(curve.sparsity) for curve, budget in found if budget.verdict == "more would help"]
    unsaid = [(called(curve.sparsity), budget) for curve, budget in found if budget.verdict == "cannot be said"]
    trials = max((cell.steps.trials for curve in finding.reached for cell in curve.cells), default=0)
    if more:
        text = f"More trials would find noticeably fewer steps ({', '.join(more)})."
        yield Reason("care", text, f"Twice as many: --set trials={2 * trials}.")
    if unsaid:
        which = "" if len(unsaid) == len(found) else f" ({', '.join(name for name, _ in unsaid)})"
        patience = max((budget.gain.patience or 0 for _, budget in unsaid), default=0)
        remedy = f"Patience {patience:g} should tell." if patience else f"More trials tell: --set trials={2 * trials}."
        yield Reason("care", f"Whether {trials} trials a cell were enough cannot be said{which}.", remedy)
    if found and not more and not unsaid:
        yield Reason("good", "Twice the trials would not save a tenth of the steps.")


def _edges(finding: Finding) -> Iterator[Reason]:
    edges = [edge for curve in finding.curves for cell in curve.cells for edge in cell.edges]
    near = [edge for edge in edges if edge.verdict in ("low", "high")]
    cells = {(edge.batch_size, edge.sparsity) for edge in near}
    if near:
        sides = sorted({f"{edge.metaparameter.replace('_', ' ')} ({edge.verdict} end)" for edge in near})
        text = f"In {counted(len(cells), 'cell')} the best lies at an edge of the search: {listed(sides)}."
        yield Reason("care", text, "A wider space to try is below." if finding.analysis.space_to_try else "")
    elif edges and all(edge.verdict == "interior" for edge in edges):
        yield Reason("good", "The best metaparameters lie inside the search space in every cell.")


def _resolution(finding: Finding) -> Iterator[Reason]:
    cells = [cell.steps for curve in finding.curves for cell in curve.cells if cell.steps.steps is not None]
    coarse = [steps for steps in cells if steps.coarse]
    if coarse:
        worst = max(coarse, key=lambda steps: steps.resolution or 0)
        which = f"at worst, {measured(worst.steps or 0)} steps are known to {percent(worst.resolution or 0, 0)}"
        yield Reason("care", f"The goal was tested too seldom in {len(coarse)} of {len(cells)} cells: {which}.")
    elif cells:
        yield Reason("good", "The goal was tested often enough to tell steps within 5\N{NO-BREAK SPACE}%.")
