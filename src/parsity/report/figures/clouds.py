"""Where in the search space the goal was reached: a panel per cell (Figs. 3, 13-18)."""

from __future__ import annotations

from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parsity.analysis import MeasuredStudy
from parsity.report.figures.quantities import Quantity, plane, quantities
from parsity.report.figures.statuses import STARS, Cloud, draw_cloud, handles, of_goal
from parsity.report.figures.style import (
    NOTE,
    Width,
    house_style,
    limits,
    log2_axis,
    new_figure,
    parts,
    sparsity_label,
    title,
)
from parsity.results import CellResult, TrialResult

TALLEST = 9.4
"""Inches; more rows than fit at their usual height are drawn lower."""


def draw_clouds(study: MeasuredStudy, goal: float, *, width: Width = "page", heading: str | None = None) -> Figure:
    """Draw every trial of every cell: a row per batch size, a column per sparsity.

    The axes are learning rate and momentum; where one metaparameter alone was searched, it and the steps each trial
    took; where others were, the first two of them.
    """
    cells = of_goal(study.cells, goal)
    batches = sorted({cell.batch_size for cell in cells}) or [1]
    sparsities = sorted({cell.sparsity for cell in cells}) or [0.0]
    axes = plane(quantities(cells, study.space))
    first, second = axes or (None, None)
    steps = limits([trial.outcomes[goal].step for cell in cells for trial in cell.trials])
    with house_style(**{"axes.spines.top": True, "axes.spines.right": True, "axes.linewidth": 0.4}):
        row = min(0.66 if width == "page" else 0.58, (TALLEST - 1.0) / len(batches))
        figure = new_figure(width, row * len(batches) + 1.1)
        (body,) = parts(figure)
        panels = body.subplots(len(batches), len(sparsities), sharex=True, sharey=True, squeeze=False)
        by_key = {(cell.batch_size, cell.sparsity): cell for cell in cells}
        if first is not None:
            first.prepare(panels[0][0], "x", most=5 if width == "page" else 2)
        if second is not None:
            second.prepare(panels[0][0], "y", most=4)
        else:
            log2_axis(panels[0][0], "y", steps, most=4)
        for line, batch in zip(panels, batches, strict=True):
            line[-1].yaxis.set_label_position("right")
            line[-1].set_ylabel(f"B = {batch}", rotation=0, ha="left", va="center", fontsize=6.5)
            for panel, sparsity in zip(line, sparsities, strict=True):
                cell = by_key.get((batch, sparsity))
                if cell is not None and first is not None:
                    _draw(panel, cell, goal, first, second, width)
        for panel, sparsity in zip(panels[0], sparsities, strict=True):
            panel.set_title(sparsity_label(sparsity, short=width == "column"))
        size = rcParams["axes.labelsize"]
        body.supxlabel(first.label if first else "no metaparameter was searched", fontsize=size)
        body.supylabel(second.label if second else "steps", fontsize=size)
        title(figure, heading or f"{study.name}: trials by how they ended, goal {goal:g}")
        keys = handles(cells, goal, best="best, its steps in the corner" if width == "page" else "best")
        figure.legend(handles=keys, loc="outside lower center", ncols=5 if width == "page" else 2)
    return figure


def _draw(panel: Axes, cell: CellResult, goal: float, first: Quantity, second: Quantity | None, width: Width) -> None:
    def height(trial: TrialResult) -> float:
        return second.place(trial) if second is not None else max(trial.outcomes[goal].step, 1)

    draw_cloud(panel, Cloud(cell, goal), lambda trial, _: first.place(trial), height, star=STARS[width])
    if width == "page":
        # In a column there is no room for it between the trials.
        steps = cell.steps_to_result(goal)
        corner: dict[str, Any] = {"ha": "right", "fontsize": 5.5, "color": NOTE, "zorder": 1}
        panel.text(0.97, 0.05, f"{steps:,}" if steps is not None else "none", transform=panel.transAxes, **corner)
