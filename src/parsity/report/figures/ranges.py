"""The trials' metaparameters against the batch size, and the range that reaches the goal (Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parsity.analysis import CurveAnalysis, Estimate, FeasibleRange, MeasuredStudy, StudyAnalysis
from parsity.report.figures.intervals import draw_interval
from parsity.report.figures.quantities import Quantity, quantities, with_effective_rate
from parsity.report.figures.statuses import STARS, Cloud, draw_cloud, handles, of_goal
from parsity.report.figures.style import (
    INK,
    NOTE,
    RULE,
    Width,
    house_style,
    limits,
    log2_axis,
    new_figure,
    parts,
    sparsity_label,
    title,
)
from parsity.results import CellResult, Status, TrialResult

ASIDE: Mapping[Status, float] = {"complete": 0.0, "incomplete": -0.22, "outpaced": -0.22, "infeasible": 0.22}
"""How many octaves beside its batch size a trial is drawn, so that the ways of ending do not hide each other."""


def draw_ranges(
    study: MeasuredStudy, analysed: StudyAnalysis, goal: float, *, width: Width = "page", heading: str | None = None
) -> Figure:
    """Draw a row per metaparameter, a column per sparsity.

    A grey bar spans the complete trials of a cell; for learning rates its ends have the intervals of the feasible
    range. A line joins the best; where they are told by a power of the batch size, the panel says by which.
    """
    cells = of_goal(study.cells, goal)
    sparsities = sorted({cell.sparsity for cell in cells}) or [0.0]
    rows = with_effective_rate(quantities(cells, study.space), cells)
    batches = limits([cell.batch_size for cell in cells], margin=1.6)
    with house_style():
        figure = new_figure(width, 1.3 * max(len(rows), 1) + 1.05)
        (body,) = parts(figure)
        panels = body.subplots(max(len(rows), 1), len(sparsities), sharex=True, sharey="row", squeeze=False)
        log2_axis(panels[0][0], "x", batches, most=5 if width == "page" else 3)
        for line, quantity in zip(panels, rows, strict=False):
            quantity.prepare(line[0], "y", most=5)
            line[0].set_ylabel(quantity.label)
            for panel, sparsity in zip(line, sparsities, strict=True):
                here = [cell for cell in cells if cell.sparsity == sparsity]
                _draw(panel, here, goal, quantity, analysed.curve(goal, sparsity), width)
        for panel, sparsity in zip(panels[0], sparsities, strict=True):
            panel.set_title(sparsity_label(sparsity, short=width == "column"), loc="left")
        body.supxlabel("batch size" if rows else "no metaparameter was searched", fontsize=rcParams["axes.labelsize"])
        title(figure, heading or f"{study.name}: metaparameters by batch size, goal {goal:g}")
        bar = Line2D([], [], color=RULE, linewidth=4, label="range of the complete")
        keys = [*handles(cells, goal, best="best"), *([bar] if rows else [])]
        figure.legend(handles=keys, loc="outside lower center", ncols=6 if width == "page" else 2)
    return figure


def _draw(
    panel: Axes,
    cells: Sequence[CellResult],
    goal: float,
    quantity: Quantity,
    curve: CurveAnalysis | None,
    width: Width,
) -> None:
    bar: dict[str, Any] = {
        "color": RULE,
        "linewidth": 4 if width == "page" else 2.5,
        "solid_capstyle": "round",
        "zorder": 1,
    }
    best = []
    for cell in cells:
        batch_size, cloud = cell.batch_size, Cloud(cell, goal)
        inside = [quantity.place(trial) for trial in cloud.of("complete")]
        if inside:
            ends = [min(inside), max(inside)]
            panel.plot([batch_size] * 2, ends, **bar, gid="range")
        found = _feasible(curve, batch_size, quantity.name)
        if found is not None and found.low.value is not None:
            low = Estimate(value=found.low.value, low=found.low.low, high=found.low.value, n=found.low.n)
            high = Estimate(value=found.high.value, low=found.high.value, high=found.high.high, n=found.high.n)
            for end in (low, high):
                draw_interval(panel, batch_size, end, colour=NOTE)
        across = {status: batch_size * 2**octaves for status, octaves in ASIDE.items()}
        draw_cloud(panel, cloud, partial(_beside, across), quantity.place, star=0.8 * STARS[width])
        if cloud.best is not None:
            best.append((batch_size, quantity.place(cloud.best)))
    panel.plot([x for x, _ in best], [y for _, y in best], color=INK, linewidth=0.6, zorder=3, gid="best line")
    slope = next((one.slope for one in curve.best if one.quantity == quantity.name), None) if curve else None
    if slope is not None and slope.value is not None and quantity.is_rate:
        power = f"$B^{{{slope.value:.2f}}}$"
        panel.set_title(f"best ~ {power}" if width == "page" else power, loc="right", fontsize=5.8, color=NOTE)


def _beside(across: Mapping[Status, float], _: TrialResult, status: Status) -> float:
    return across[status]


def _feasible(curve: CurveAnalysis | None, batch_size: int, name: str) -> FeasibleRange | None:
    cells = curve.cells if curve is not None else ()
    ranges = (one for cell in cells if cell.batch_size == batch_size for one in cell.ranges)
    return next((one for one in ranges if one.quantity == name), None)
