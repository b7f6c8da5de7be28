"""What the steps take on the machine they were measured on, sparse beside dense."""

from __future__ import annotations

from parsity.analysis import CellSeconds, Estimate, SecondsToResult
from parsity.report.page.findings import Finding
from parsity.report.page.markup import Content, Html, tag
from parsity.report.page.numbers import DASH, about, called, factor, sentence
from parsity.report.page.tables import bracketed, table

HOW = (
    "Seconds are K* times what a training step takes, the median over the trials of the cell while the study ran, goal "
    "tests apart: what one run with the best metaparameters takes on a core of this machine, each cell with the engine "
    "that was fastest for it. A network overtakes where the whole interval of the ratio lies below 1."
)
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def seconds(finding: Finding) -> Html:
    """Of one goal: where sparse overtakes dense, and the table behind it."""
    found = next((one for one in finding.analysis.seconds if one.goal == finding.goal), None)
    if found is None:
        return tag("p", "No cell that reached this goal has step times.")
    told = [tag("li", sentence(found.words(sparsity))) for sparsity in found.sparsities]
    return tag("div", tag("p", HOW, class_="meta"), tag("ul", told) if told else None, _table(found), class_="tables")


def _table(found: SecondsToResult) -> Html:
    base = called(found.against)
    headings = ["batch size", "sparsity", "engine", "K*", "a step", "seconds", f"over {base}"]
    rows = [_row(cell) for cell in found.cells]
    return table("Seconds to the goal, with 95 % intervals", headings, rows, texts=("sparsity", "engine"))


def _row(cell: CellSeconds) -> list[Content]:
    return [
        f"{cell.batch_size:,}",
        called(cell.sparsity),
        cell.engine,
        f"{cell.steps.value:,.0f}" if cell.steps.value is not None else DASH,
        _duration(cell.step_seconds.value),
        _with_interval(about(cell.seconds.value), cell.seconds, "about"),
        _with_interval(factor(cell.ratio.value), cell.ratio, "factor") if cell.ratio is not None else "",
    ]


def _with_interval(text: str, estimate: Estimate, form: str) -> Content:
    return [text, tag("span", f" {bracketed(estimate, form)}", class_="interval")]


def _duration(value: float | None) -> str:
    """A step's time in the unit that suits it."""
    if value is None:
        return DASH
    unit, size = next(((unit, size) for unit, size in UNITS if value >= size), UNITS[-1])
    return f"{value / size:.3g} {unit}"
