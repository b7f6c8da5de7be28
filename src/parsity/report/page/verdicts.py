"""Verdicts on the search itself: its budget, its edges, how finely the goal was tested - and the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence

from parsity.analysis import Claim, CurveAnalysis
from parsity.report.page.findings import Finding
from parsity.report.page.markup import Content, Html, join, tag
from parsity.report.page.numbers import called, counted, listed, percent, sentence, short
from parsity.report.page.tables import table

WORDS = {"holds": "holds", "does not": "does not hold", "cannot be said": "cannot be said"}
CLASSES = {"holds": "good", "does not": "bad", "cannot be said": "open", "enough": "good", "more would help": "care"}


def verdicts(finding: Finding) -> Html:
    """The three of one goal."""
    return tag("div", _budget(finding), _boundary(finding), _resolution(finding), class_="verdicts")


def badge(verdict: str) -> Html:
    """A verdict, to be seen at a glance and read without colour."""
    return tag("span", WORDS.get(verdict, verdict), class_=f"badge {CLASSES.get(verdict, 'open')}")


def _section(title: str, question: str, *content: Content) -> Html:
    return tag("section", tag("h4", title), tag("p", question, class_="note"), join(*content), class_="verdict")


def _budget(finding: Finding) -> Html:
    said = []
    for curve in finding.curves:
        last = curve.budget.last_gain
        half = "" if last is None else f"The second half of the trials lowered it by {percent(last, 0)}. "
        said.append((called(curve.sparsity), badge(curve.budget.verdict), half + sentence(curve.budget.why)))
    return _section("Budget", "Would more trials have found fewer steps?", _lines(said))


def _lines(said: Sequence[tuple[str, Html, str]]) -> Html:
    """A line for each (name, badge, text), those that say the same together."""
    together: dict[tuple[Html, str], list[str]] = {}
    for name, mark, text in said:
        together.setdefault((mark, text), []).append(name)
    rows = [
        tag("li", tag("strong", listed(names)), " ", mark, " ", tag("span", text))
        for (mark, text), names in together.items()
    ]
    return tag("ul", rows, class_="lines")


def _boundary(finding: Finding) -> Html:
    edges = [edge for curve in finding.curves for cell in curve.cells for edge in cell.edges]
    names = list(dict.fromkeys(edge.metaparameter for edge in edges))
    said = []
    for name in names:
        some = [edge.verdict for edge in edges if edge.metaparameter == name]
        unsaid = some.count("cannot be said")
        at_edge = "low" in some or "high" in some
        word = "at an edge" if at_edge else "cannot be said" if unsaid else "inside"
        kind = "care" if at_edge else "open" if unsaid else "good"
        text = f"In all {counted(len(some), 'cell')}."
        if at_edge or unsaid:
            parts = [f"{some.count('interior')} inside"]
            parts += [f"{some.count(side)} near the {side} end" for side in ("low", "high") if side in some]
            parts += [f"{unsaid} cannot be said"] if unsaid else []
            text = f"Of {counted(len(some), 'cell')}: {', '.join(parts)}."
        said.append((name.replace("_", " "), tag("span", word, class_=f"badge {kind}"), text))
    unknown = tag("p", "Nothing was found, or the search space is not known, so this cannot be said.", class_="lines")
    again = None
    if finding.analysis.space_to_try:
        again = tag(
            "div",
            tag("p", "A space to try next, over all goals of the study:"),
            tag("pre", tag("code", finding.analysis.space_to_try), tabindex="0"),
            tag(
                "button", "Copy", type="button", class_="copy", data_copy="pre", aria_label="Copy the space to try next"
            ),
            class_="copied",
        )
    question = "Do the best metaparameters lie inside the search space?"
    return _section("Boundary", question, _lines(said) if said else unknown, again)


def _resolution(finding: Finding) -> Html:
    said = [found for curve in finding.curves if (found := _resolved(curve)) is not None]
    question = "Was the goal tested often enough, so that the check interval is small against K*?"
    return _section("Resolution", question, _lines(said))


def _resolved(curve: CurveAnalysis) -> tuple[str, Html, str] | None:
    cells = [cell.steps for cell in curve.cells if cell.steps.steps is not None]
    if not cells:
        return None
    coarse = [steps for steps in cells if steps.coarse]
    if not coarse:
        mark, text = tag("span", "fine", class_="badge good"), f"In all {counted(len(cells), 'cell')}."
    else:
        worst = max(coarse, key=lambda steps: steps.resolution or 0)
        mark = tag("span", "coarse", class_="badge care")
        text = f"In {len(coarse)} of {counted(len(cells), 'cell')}; at batch {worst.batch_size:,}, {worst.warning}."
    return called(curve.sparsity), mark, sentence(text)


def claims(found: Sequence[Claim]) -> Html:
    """Each statement of the paper, held against the studies on the page."""
    said = [claim for claim in found if claim.cases]
    unsaid = [claim for claim in found if not claim.cases]
    items = [_claim(claim) for claim in said]
    rest = None
    if unsaid:
        names = tag("ul", [tag("li", claim.statement) for claim in unsaid])
        label = f"{counted(len(unsaid), 'statement')} that nothing here measures"
        rest = tag("details", tag("summary", label), names)
    return tag("div", tag("ol", items, class_="claims"), rest)


def _claim(claim: Claim) -> Html:
    rows = [
        [
            case.study,
            "" if case.goal is None else short(case.goal),
            "" if case.sparsity is None else called(case.sparsity),
            WORDS[case.verdict],
            case.why,
        ]
        for case in claim.cases
    ]
    cases = table("The cases", ["study", "goal", "sparsity", "verdict", "why"], rows, texts=("study", "verdict", "why"))
    details = tag("details", tag("summary", counted(len(rows), "case")), cases) if len(rows) > 1 else None
    return tag(
        "li",
        tag("p", badge(claim.verdict), class_="said"),
        tag("div", tag("p", tag("strong", claim.statement)), tag("p", sentence(claim.why), class_="note"), details),
    )
