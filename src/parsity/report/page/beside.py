"""Several studies side by side: their answers in one table, their curves in one chart."""

from __future__ import annotations

from collections.abc import Sequence

from parsity.analysis import Analysis
from parsity.report.page.controls import chart
from parsity.report.page.findings import Finding, headline_goal
from parsity.report.page.markup import Content, Html, tag
from parsity.report.page.numbers import DASH, about, called, factor, short
from parsity.report.page.reported import ReportedStudy
from parsity.report.page.tables import bracketed, table
from parsity.report.page.trust import reasons, verdict


def side_by_side(studies: Sequence[ReportedStudy], whole: Analysis) -> Html:
    """What a page of several studies begins with."""
    found = [
        Finding(study, analysis, whole, headline_goal(study, analysis))
        for study, analysis in zip(studies, whole.studies, strict=True)
    ]
    headings = ["study", "goal", "dense critical batch", "sparsest critical batch", "cost of sparsity", "to be trusted"]
    caption = "Each study at its own goal; intervals are 95 %"
    answers = table(caption, headings, map(_row, found), texts=("study", "to be trusted"))
    text = "The studies in one picture, a panel for each sparsity, each at the goal that is chosen for it below."
    return tag(
        "section",
        tag("h2", "Side by side", id="beside"),
        answers,
        chart("beside", "beside-chart", "Steps to the goal by batch size, study by study", text),
        _comparisons(whole),
        class_="beside",
        aria_labelledby="beside",
    )


def _row(finding: Finding) -> list[Content]:
    curves = finding.curves
    ratio = finding.ratios[-1].mean if finding.ratios else None
    return [
        finding.study.name,
        short(finding.goal),
        _critical(finding, 0),
        _critical(finding, len(curves) - 1) if len(curves) > 1 else "",
        factor(ratio.value) if ratio is not None else DASH,
        verdict(reasons(finding)).lower(),
    ]


def _critical(finding: Finding, place: int) -> Content:
    if not finding.curves or finding.curves[place].scaling is None:
        return DASH
    scaling = finding.curves[place].scaling
    if scaling is None:
        return DASH
    found = scaling.believed_critical_batch
    return [about(found.value), tag("span", f" {bracketed(found)}", class_="interval")]


def _comparisons(whole: Analysis) -> Html | None:
    rows = [
        [
            one.upper,
            one.lower,
            short(one.goal),
            called(one.sparsity),
            factor(one.mean.value),
            factor(one.points[-1].ratio.value),
            f"{one.points[-1].batch_size:,}",
        ]
        for one in whole.comparisons
    ]
    headings = ["steps of", "over those of", "goal", "sparsity", "in the mean", "at the largest batch", "which is"]
    texts = ("steps of", "over those of", "sparsity")
    return (
        table("Studies against each other, where data, network and goal are the same", headings, rows, texts=texts)
        if rows
        else None
    )
