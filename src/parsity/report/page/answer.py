"""The answer in words, before any chart."""

from __future__ import annotations

from parsity.analysis import CurveAnalysis, Estimate
from parsity.report.page.findings import Finding, critical_batch
from parsity.report.page.markup import Html, join, tag
from parsity.report.page.numbers import DASH, about, called, factor, interval, percent, short
from parsity.report.page.trust import reasons, verdict

SIGNS = {"good": "✓", "care": "!", "bad": "✗"}
READ_AS = {"good": "fine: ", "care": "care: ", "bad": "not yet: "}


def answer(finding: Finding) -> Html:
    """The answer for one goal: a sentence or two, the numbers, and whether to trust them."""
    return tag(
        "div",
        tag("p", _batches(finding), " ", _sparsity(finding), class_="lead"),
        tag("div", _critical(finding), _cost(finding), class_="cards") if finding.reached else None,
        _trust(finding),
        class_="answer",
    )


def _batches(finding: Finding) -> Html:
    if not finding.reached:
        return join(f"No trial has reached the error {short(finding.goal)} yet, so nothing can be said about it.")
    curve = finding.reached[0]
    who = called(curve.sparsity).capitalize()
    measured = [cell.batch_size for cell in curve.cells if cell.steps.steps is not None]
    if curve.scaling is None:
        return join(
            f"{who}, {len(measured)} batch sizes have reached the goal; it takes 3 to say where larger stop paying."
        )
    found, _ = critical_batch(curve.scaling)
    if found.value is None:
        return join(
            f"{who}, steps still fall in proportion to the batch at {max(measured):,}, the largest measured: ",
            "where larger batches stop paying lies beyond.",
        )
    if found.value < min(measured) / 2:
        return join(f"{who}, larger batches hardly pay at all: steps barely fall from {min(measured):,} images on.")
    text = join(f"{who}, larger batches pay up to about ", tag("strong", about(found.value)), " images; ")
    if found.value > max(measured):
        return join(text, f"the largest measured is {max(measured):,}, so that is an extrapolation.")
    return join(text, "beyond that, doubling the batch saves ever fewer steps.")


def _sparsity(finding: Finding) -> Html | None:
    found = [one for one in finding.ratios if one.sparsity > one.against]
    if not found or found[-1].mean.value is None:
        return None
    one = found[-1]
    value = found[-1].mean.value
    who = f"Pruned to {percent(one.sparsity, 2)}"
    if 0.95 < value < 1.05:
        return join(f"{who}, the network needs about as many steps.")
    times = tag("strong", factor(value))
    trend = ""
    if one.slope.below(0):
        trend = ", and less of that the larger the batch"
    elif one.slope.above(0):
        trend = ", and more the larger the batch"
    return join(f"{who}, the network needs ", times, f" the steps{trend}.")


def _critical(finding: Finding) -> Html:
    rows = [_row(called(curve.sparsity), *_batch(curve)) for curve in finding.curves]
    note = (
        "c1/c2 of the fit K* = c1/B + c2: the batch at which a run takes twice the images of a small "
        "batch, and twice the steps of an unlimited one."
    )
    return _card("Critical batch", rows, note)


def _batch(curve: CurveAnalysis) -> tuple[str, str]:
    if curve.scaling is None:
        return DASH, "fewer than 3 batch sizes reached the goal"
    found, source = critical_batch(curve.scaling)
    if found.value is None:
        return "open", found.open_because
    said = {"trials": "95\N{NO-BREAK SPACE}%, from the trials", "scatter": "95\N{NO-BREAK SPACE}%, from the scatter"}
    return about(found.value), f"{interval(found)} ({said[source]})"


def _cost(finding: Finding) -> Html | None:
    rows = []
    for one in finding.ratios:
        values = [point.ratio.value for point in one.points if point.ratio.value is not None]
        span = f"{min(values):.2f} to {factor(max(values))} over {len(values)} batch sizes" if values else ""
        rows.append(_row(called(one.sparsity), factor(one.mean.value), f"{_bounds(one.mean)}; {span}"))
    if not rows:
        return None
    against = called(finding.ratios[0].against)
    note = f"Steps of the pruned network over those of the {against} one, in the geometric mean over batch sizes."
    return _card("Cost of sparsity", rows, note)


def _bounds(estimate: Estimate) -> str:
    if estimate.low is None and estimate.high is None:
        return "interval open"
    return f"{interval(estimate, 'factor')} (95\N{NO-BREAK SPACE}%)"


def _row(name: str, value: str, more: str) -> Html:
    return tag("div", tag("dt", name), tag("dd", tag("b", value), " ", tag("span", more, class_="more")), class_="fact")


def _card(title: str, rows: list[Html], note: str) -> Html:
    return tag("section", tag("h4", title), tag("dl", rows), tag("p", note, class_="note"), class_="card")


def _trust(finding: Finding) -> Html:
    found = reasons(finding)
    items = [
        tag(
            "li",
            tag("span", SIGNS[reason.kind], class_="sign", aria_hidden="true"),
            tag("span", READ_AS[reason.kind], class_="sr-only"),
            tag("span", reason.text),
            class_=reason.kind,
        )
        for reason in found
    ]
    heading = tag("h4", "Whether to trust it: ", tag("em", verdict(found)))
    return tag("section", heading, tag("ul", items, class_="reasons"), class_="card trust")
