"""Verdicts on the search itself: its budget, its edges, how finely the goal was tested - and the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence

from parsity.analysis import Claim, CurveAnalysis
from parsity.report.page.findings import Finding
from parsity.report.page.markup import Content, Html, join, tag
from parsity.report.page.numbers import called, counted, short
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
    rows = []
    for curve in finding.curves:
        last = curve.budget.last_gain
        half = "" if last is None else f"The second half of the trials lowered it by {last:.0%}. "
        rows.append(_line(called(curve.sparsity), curve.budget.verdict, half + _sentence(curve.budget.why)))
    return _section("Budget", "Would more trials have found fewer steps?", tag("ul", rows, class_="lines"))


def _line(name: str, verdict: str, why: str) -> Html:
    return tag("li", tag("strong", name), " ", badge(verdict), " ", tag("span", why))


def _boundary(finding: Finding) -> Html:
    edges = [edge for curve in finding.curves for cell in curve.cells for edge in cell.edges]
    names = list(dict.fromkeys(edge.metaparameter for edge in edges))
    rows = []
    for name in names:
        some = [edge.verdict for edge in edges if edge.metaparameter == name]
        parts = [f"{some.count('interior')} inside"]
        parts += [f"{some.count(side)} near the {side} end" for side in ("low", "high") if side in some]
        unsaid = some.count("cannot be said")
        parts += [f"{unsaid} cannot be said"] if unsaid else []
        at_edge = "low" in some or "high" in some
        word = "at an edge" if at_edge else "cannot be said" if unsaid else "inside"
        kind = "care" if at_edge else "open" if unsaid else "good"
        mark = tag("span", word, class_=f"badge {kind}")
        text = f"Of {counted(len(some), 'cell')}: {', '.join(parts)}."
        rows.append(tag("li", tag("strong", name.replace("_", " ")), " ", mark, " ", tag("span", text)))
    if not rows:
        rows = [tag("li", "The search space of this study is not known, so this cannot be said.")]
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
    return _section("Boundary", question, tag("ul", rows, class_="lines"), again)


def _resolution(finding: Finding) -> Html:
    rows = [_resolved(curve) for curve in finding.curves]
    question = "Was the goal tested often enough, so that the check interval is small against K*?"
    return _section("Resolution", question, tag("ul", [row for row in rows if row], class_="lines"))


def _resolved(curve: CurveAnalysis) -> Html | None:
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
    return tag("li", tag("strong", called(curve.sparsity)), " ", mark, " ", tag("span", text))


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
    details = tag("details", tag("summary", counted(len(rows), "case")), cases)
    return tag(
        "li",
        tag("p", tag("strong", claim.statement), " ", badge(claim.verdict)),
        tag("p", _sentence(claim.why), class_="note"),
        details,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text and not text.endswith(".") else text
