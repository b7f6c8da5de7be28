"""The answer for one goal: the sentences before any chart, the numbers behind them, and whether to trust them."""

from __future__ import annotations

from parsity.analysis import CurveAnalysis
from parsity.report.page.findings import Finding
from parsity.report.page.lead import lead
from parsity.report.page.markup import Html, tag
from parsity.report.page.numbers import DASH, about, called, counted, factor, interval, rests_on
from parsity.report.page.trust import KINDS, reasons, verdict
from parsity.report.page.words import words

SIGNS = {"good": "✓", "care": "!", "bad": "✗"}
READ_AS = {"good": "fine: ", "care": "care: ", "bad": "not yet: "}


def answer(finding: Finding) -> Html:
    """The answer for one goal."""
    return tag(
        "div",
        lead(finding),
        tag("div", _critical(finding), _cost(finding), class_="cards") if finding.reached else None,
        _trust(finding),
        words(),
        class_="answer",
    )


def _critical(finding: Finding) -> Html:
    rows = [_row(called(curve.sparsity), *_batch(curve)) for curve in finding.curves]
    note = (
        "c1/c2 of the fit K* = c1/B + c2: at this batch a run takes twice the steps of one with unlimited batches. "
        "Intervals are 95 %: by trials where they bound it, else by how batch sizes scatter about the fit."
    )
    return _card("Critical batch", "The batch size up to which larger ones pay", rows, note)


def _batch(curve: CurveAnalysis) -> tuple[str, str, str]:
    if curve.scaling is None:
        return DASH, "", "fewer than 3 batch sizes reached the goal"
    found = curve.scaling.believed_critical_batch
    if found.value is None:
        return "open", "", found.open_because
    return (
        about(found.value),
        interval(found),
        f"n = {rests_on(found)}",
    )


def _cost(finding: Finding) -> Html | None:
    rows = []
    for one in finding.ratios:
        values = [point.ratio.value for point in one.points if point.ratio.value is not None]
        measured = ""
        if len(values) > 1:
            measured = f"{min(values):.2f} to {factor(max(values))} measured"
        elif values:
            measured = f"at batch size {one.points[0].batch_size:,} alone"
        mean = one.believed_mean
        rows.append(_row(called(one.sparsity), factor(mean.value), interval(mean, "factor"), measured))
    if not rows:
        return None
    against, trials = called(finding.ratios[0].against), finding.ratios[0].mean.n
    note = (
        f"Steps over those of the {against} network: the geometric mean over batch sizes, and the least and the most "
        f"at any. Intervals are 95 %: by {counted(trials, 'trial')} a cell where they bound it, else by how "
        "batch sizes scatter about a line."
    )
    return _card("Cost of sparsity", "How many times as many steps pruned networks take", rows, note)


def _row(name: str, value: str, bounds: str, more: str) -> Html:
    details = tag("span", tag("span", bounds, class_="bounds") if bounds else None, " ", tag("small", more))
    return tag("div", tag("dt", name), tag("dd", tag("b", value), details), class_="fact")


def _card(title: str, meaning: str, rows: list[Html], note: str) -> Html:
    return tag(
        "section",
        tag("h4", title),
        tag("p", meaning, class_="meaning"),
        tag("dl", rows),
        tag("p", note, class_="note"),
        class_="card",
    )


def _trust(finding: Finding) -> Html:
    found = reasons(finding)
    items = [
        tag(
            "li",
            tag("span", SIGNS[reason.kind], class_="sign", aria_hidden="true"),
            tag("span", READ_AS[reason.kind], class_="sr-only"),
            tag("span", reason.text, [" ", tag("span", reason.remedy, class_="remedy")] if reason.remedy else None),
            class_=reason.kind,
        )
        for reason in found
    ]
    word = verdict(found)
    heading = tag("h4", "Whether to trust it: ", tag("em", word.lower(), class_=KINDS[word]))
    return tag("section", heading, tag("ul", items, class_="reasons"), class_="card trust")
