"""The charts of one study, with what is said beside them."""

from __future__ import annotations

from parsity.report.page.controls import chart, choices
from parsity.report.page.markup import Content, Html, join, tag


def curves(place: int, *, with_ratios: bool) -> Html:
    """Steps by batch size, and what sparsity costs."""
    caption = (
        "Fewest steps to the goal, K*, by batch size. Dotted: the fit c1/B + c2. Dashed: ideal scaling, where "
        "twice the batch takes half the steps. Whiskers: 95 % intervals, where the trials bound them; a half of "
        "one where they bound one side. Select a name in the legend to hide or show it."
    )
    views = ["steps", "normalised", "in units of the fit"]
    parts: list[Content] = [
        choices("Show", f"view-{place}", views, 0, role="view"),
        chart("curves", f"curves-chart-{place}", "Steps to the goal by batch size", caption),
    ]
    if with_ratios:
        text = "What pruning costs: steps over those of the least sparse network, with 95 % intervals where bounded."
        parts.append(chart("ratios", f"ratios-chart-{place}", "Cost of sparsity by batch size", text))
    return join(*parts)


def clouds(place: int) -> Html:
    """Every trial, where it lies among the metaparameters."""
    caption = join(
        "Every trial of the search, by how it ended. Larger discs took fewer steps; the gold star is the winner. ",
        "Move the batch size to see where the good ones go.",
    )
    slider = tag(
        "div",
        tag("label", "Batch size ", tag("output", "", for_=f"batch-{place}"), for_=f"batch-{place}"),
        tag("input", type="range", id=f"batch-{place}", min=0, max=1, step=1, value=0, data_role="batch"),
        class_="choice slider needs-script",
    )
    axes = tag("div", class_="choice axes needs-script", data_role="axes")
    row = tag("div", slider, axes, class_="controls")
    return join(row, chart("clouds", f"clouds-chart-{place}", "Outcomes of trials by metaparameters", caption))
