"""Tables to read and to copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parsity.analysis import Estimate
from parsity.report.page.findings import Finding
from parsity.report.page.markup import Content, Html, tag
from parsity.report.page.numbers import DASH, about, called, factor, measured, percent, short
from parsity.results import Status

STATUSES: tuple[Status, ...] = ("complete", "incomplete", "infeasible", "outpaced")


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Content]], *, texts: Sequence[str] = ()
) -> Html:
    """A table with its first column as headings and a button that copies it; columns of ``texts`` are no numbers."""
    kinds = ["text" if heading in texts else None for heading in headings]
    head = [tag("th", heading, scope="col", class_=kind) for heading, kind in zip(headings, kinds, strict=True)]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_=kinds[0]),
            [tag("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)],
        )
        for row in rows
    ]
    inside = tag("table", tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body))
    button = tag("button", "Copy", type="button", class_="copy", data_copy="table", aria_label=f"Copy table: {caption}")
    # What scrolls must be within reach of the keyboard, and so it needs a name.
    scroller = tag("div", inside, class_="scroller", tabindex="0", role="region", aria_label=caption)
    return tag("div", scroller, button, class_="tabled")


def tables(finding: Finding) -> Html:
    """All of one goal."""
    return tag("div", _grid(finding), _fits(finding), _ratios(finding), _winners(finding), class_="tables")


def _grid(finding: Finding) -> Html:
    batches = sorted({cell.batch_size for curve in finding.curves for cell in curve.cells})
    steps = {(curve.sparsity, cell.batch_size): cell.steps for curve in finding.curves for cell in curve.cells}
    rows = []
    for batch in batches:
        row: list[Content] = [f"{batch:,}"]
        for curve in finding.curves:
            found = steps.get((curve.sparsity, batch))
            row.append(_steps(found.estimate) if found is not None else "")
        rows.append(row)
    headings = ["batch size", *(called(curve.sparsity) for curve in finding.curves)]
    trials = sorted({cell.steps.trials for curve in finding.curves for cell in curve.cells})
    many = " to ".join(map(str, dict.fromkeys((trials[0], trials[-1])))) if trials else "0"
    caption = f"Steps to error {short(finding.goal)}, K*, with 95 % intervals; n = {many} trials a cell"
    return table(caption, headings, rows)


def _steps(estimate: Estimate) -> Content:
    if estimate.value is None:
        return DASH
    return [f"{estimate.value:,.0f}", tag("span", f" {bracketed(estimate)}", class_="interval")]


def bracketed(estimate: Estimate, form: str = "about") -> str:
    """The interval between brackets; a side that is not bounded is open."""
    if estimate.low is None and estimate.high is None:
        return "[open]"
    written = factor if form == "factor" else about
    low, high = ("open" if side is None else written(side) for side in (estimate.low, estimate.high))
    return f"[{low}, {high}]"


def _fits(finding: Finding) -> Html | None:
    rows = []
    for curve in finding.curves:
        fit = curve.scaling
        if fit is None:
            continue
        found = fit.believed_critical_batch
        useful = curve.landmarks.maximal_useful.value if curve.landmarks is not None else None
        end = curve.landmarks.end_of_linear.value if curve.landmarks is not None else None
        rows.append(
            [
                called(curve.sparsity),
                about(fit.c1.value),
                about(fit.c2.value),
                about(found.value),
                bracketed(found),
                found.source,
                about(end),
                about(useful),
                f"{fit.residual:.2f}",
                fit.knee.verdict,
            ]
        )
    headings = [
        *("sparsity", "c1", "c2", "critical batch", "95 %", "from the", "linear up to", "useful up to"),
        *("residual (octaves)", "knee"),
    ]
    texts = ("from the", "knee")
    return table("The fits K* = c1/B + c2", headings, rows, texts=texts) if rows else None


def _ratios(finding: Finding) -> Html | None:
    if not finding.ratios:
        return None
    by_batch = {(one.sparsity, point.batch_size): point.ratio for one in finding.ratios for point in one.points}
    rows = []
    for batch in sorted({batch for _, batch in by_batch}):
        row: list[Content] = [f"{batch:,}"]
        for one in finding.ratios:
            ratio = by_batch.get((one.sparsity, batch))
            row.append(_factor(ratio) if ratio is not None else "")
        rows.append(row)
    headings = ["batch size", *(called(one.sparsity) for one in finding.ratios)]
    caption = f"Steps over those of the {called(finding.ratios[0].against)} network, with 95 % intervals"
    return table(caption, headings, rows)


def _factor(ratio: Estimate) -> Content:
    return [factor(ratio.value), tag("span", f" {bracketed(ratio, 'factor')}", class_="interval")]


def _winners(finding: Finding) -> Html:
    names = finding.study.searched
    rows = []
    for curve in finding.curves:
        for cell in curve.cells:
            found = cell.steps
            if found.steps is None:
                continue
            given = found.metaparameters or {}
            rows.append(
                [
                    f"{cell.batch_size:,}",
                    called(curve.sparsity),
                    f"{found.steps:,}",
                    f"({found.last_miss:,}, {found.steps:,}]",
                    str(found.winner),
                    *(measured(given[name]) if name in given else "" for name in names),
                    percent(found.test_error, 2) if found.test_error is not None else "",
                    cell.scaling.regime or "",
                    *(str(found.counts.get(status, 0)) for status in STATUSES),
                ]
            )
    headings = [
        *("batch size", "sparsity", "K*", "known within", "trial"),
        *(name.replace("_", " ") for name in names),
        *("test error", "scaling", *STATUSES),
    ]
    return table("Winners, cell by cell", headings, rows, texts=("sparsity", "scaling"))
