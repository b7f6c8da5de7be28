"""Steps to result against the batch size: each sparsity on its own, all together, and normalised (Figs. 1, 2, 7-11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parsity.analysis import CurveAnalysis, StudyAnalysis
from parsity.report.figures.intervals import draw_bar, draw_interval, interval_handle, room, written
from parsity.report.figures.style import (
    FAINT,
    INK,
    NOTE,
    CurveStyle,
    Width,
    draw_points,
    house_style,
    limits,
    log2_axis,
    new_figure,
    parts,
    sparsity_label,
    styles,
    title,
    unfinished_handle,
)

ABREAST: dict[Width, int] = {"page": 4, "column": 2}
IDEAL: dict[str, Any] = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 1}
STEPS, BATCH = "steps to result", "batch size"


@dataclass(frozen=True)
class _Panels:
    figure: Figure
    separate: list[Axes]
    together: Axes | None
    normalised: Axes
    critical: Axes


def draw_scaling(study: StudyAnalysis, goal: float, *, width: Width = "page", heading: str | None = None) -> Figure:
    """Draw the curves of one goal.

    Separate panels have K* with its interval, the fit c1/B + c2 and the ideal line, K* of the smallest batch halved
    with every doubling; the last panel has K* in units of that, and the critical batch c1/c2 of each curve below.
    """
    curves = [curve for curve in study.curves if curve.goal == goal]
    unfinished = set(study.unfinished)
    with house_style():
        looks = styles([curve.sparsity for curve in curves])
        panels = _make_panels(len(curves), width)
        batches = limits([cell.batch_size for curve in curves for cell in curve.cells], margin=1.6)
        steps = _steps(curves)
        for place, (panel, curve) in enumerate(zip_longest(panels.separate, curves)):
            log2_axis(panel, "x", batches, most=5)
            log2_axis(panel, "y", steps)
            if place % ABREAST[width] == 0:
                panel.set_ylabel(STEPS)
            else:
                panel.tick_params(labelleft=False)
            if curve is not None:
                _draw_separate(panel, curve, looks[curve.sparsity], unfinished)
        if panels.together is not None:
            log2_axis(panels.together, "x", batches, most=10)
            log2_axis(panels.together, "y", limits([steps for curve in curves for _, steps in _measured(curve)]))
            panels.together.set(xlabel=BATCH, ylabel=STEPS)
            panels.together.set_title("together", loc="left")
            for curve in curves:
                draw_points(panels.together, _measured(curve), curve.sparsity, looks[curve.sparsity], unfinished)
            panels.together.legend(loc="upper right", handlelength=3)
        _draw_normalised(panels.normalised, curves, looks, unfinished, batches)
        _draw_critical(panels.critical, curves, looks, batches)
        title(panels.figure, heading or f"{study.name}: steps to goal {goal:g}")
        handles = _legend(curves, unfinished)
        panels.figure.legend(handles=handles, loc="outside lower center", ncols=4 if width == "page" else 2)
    return panels.figure


def _make_panels(sparsities: int, width: Width) -> _Panels:
    """One panel per sparsity, in rows; below them, all together (of several) and normalised."""
    abreast = min(ABREAST[width], max(sparsities, 1))
    rows = math.ceil(max(sparsities, 1) / abreast)
    if sparsities < 2:
        # A single curve has nothing to be together with.
        figure = new_figure(width, 2.6 if width == "page" else 2.2)
        grid = figure.add_gridspec(2, 2, height_ratios=[1, 0.14])
        separate = [figure.add_subplot(grid[:, 0])]
        separate[0].set_xlabel(BATCH)
        return _Panels(figure, separate, None, figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1]))
    strip = 0.1 * sparsities + 0.04
    beside = width == "page"
    heights = [1.62 * rows, 2.3 if beside else 4.0 + strip]
    figure = new_figure(width, sum(heights) + 0.45)
    above, below = parts(figure, heights)
    cells = above.add_gridspec(rows, abreast)
    above.supxlabel(BATCH, fontsize=rcParams["axes.labelsize"])
    separate = [above.add_subplot(cells[place // abreast, place % abreast]) for place in range(sparsities)]
    if beside:
        grid = below.add_gridspec(2, 2, height_ratios=[2.3 - strip, strip])
        places = grid[:, 0], grid[0, 1], grid[1, 1]
    else:
        grid = below.add_gridspec(3, 1, height_ratios=[2.0, 2.0, strip])
        places = grid[0, 0], grid[1, 0], grid[2, 0]
    together, normalised, critical = (below.add_subplot(place) for place in places)
    return _Panels(figure, separate, together, normalised, critical)


def _steps(curves: Sequence[CurveAnalysis]) -> tuple[float, float]:
    """The range that shows all curves, their intervals, arrows and fits."""
    shown: list[float | None] = []
    for curve in curves:
        for cell in curve.cells:
            found = cell.steps.estimate
            shown += [found.value, found.low, found.high, *room(found)]
        if curve.scaling is not None:
            shown += [curve.scaling.steps(batch) for batch in curve.scaling.batch_sizes]
    return limits(shown, margin=1.25)


def _draw_separate(panel: Axes, curve: CurveAnalysis, look: CurveStyle, unfinished: set[tuple[int, float]]) -> None:
    panel.set_title(sparsity_label(curve.sparsity), loc="left", pad=11)
    points = _measured(curve)
    if not points:
        panel.text(0.5, 0.5, "no trial has\nreached the goal", transform=panel.transAxes, ha="center", color=FAINT)
        return
    _draw_ideal(panel, *points[0])
    for cell in curve.cells:
        draw_interval(panel, cell.batch_size, cell.steps.estimate, colour=look.colour)
    fit = curve.scaling
    draw_points(panel, points, curve.sparsity, look, unfinished, line=fit is None)
    if fit is None:
        return
    low, high = min(fit.batch_sizes), max(fit.batch_sizes)
    xs = [low * (high / low) ** (i / 64) for i in range(65)]
    panel.plot(xs, [fit.steps(x) or math.nan for x in xs], color=INK, linewidth=0.9, zorder=2.5, gid="fit")
    critical = f"$c_1/c_2$ = {written(fit.believed_critical_batch)}"
    panel.text(0, 1.025, critical, transform=panel.transAxes, fontsize=5.8, va="bottom", color=NOTE)
    panel.set_title(f"rms {fit.residual:.2f} oct", loc="right", pad=11, fontsize=5.8, color=NOTE)


def _draw_normalised(
    panel: Axes,
    curves: Sequence[CurveAnalysis],
    looks: dict[float, CurveStyle],
    unfinished: set[tuple[int, float]],
    batches: tuple[float, float],
) -> None:
    log2_axis(panel, "x", batches, most=10)
    log2_axis(panel, "y", limits([p.relative_steps for curve in curves for p in curve.normalised]), plain=True)
    starts = [curve.normalised[0].batch_size for curve in curves if curve.normalised]
    if starts:
        _draw_ideal(panel, min(starts), 1.0)
    for curve in curves:
        points = [(point.batch_size, point.relative_steps) for point in curve.normalised]
        draw_points(panel, points, curve.sparsity, looks[curve.sparsity], unfinished)
    panel.set_title("normalised by the smallest batch", loc="left")
    panel.set_ylabel("relative steps")
    panel.tick_params(labelbottom=False)


def _draw_critical(
    panel: Axes, curves: Sequence[CurveAnalysis], looks: dict[float, CurveStyle], batches: tuple[float, float]
) -> None:
    """A bar for each curve's critical batch, the least sparse on top."""
    log2_axis(panel, "x", batches, most=10)
    panel.set(xlabel=BATCH, ylim=(-len(curves), 0.7), yticks=[])
    panel.set_ylabel("critical\nbatch", rotation=0, ha="right", va="center")
    panel.spines["left"].set_visible(False)
    for place, curve in enumerate(curves):
        if curve.scaling is not None:
            look = looks[curve.sparsity]
            draw_bar(panel, -place, curve.scaling.believed_critical_batch, colour=look.colour, marker=look.marker)


def _draw_ideal(panel: Axes, batch_size: float, steps: float) -> None:
    """Half the steps with every doubling of the batch."""
    end = panel.get_xlim()[1]
    panel.plot([batch_size, end], [steps, steps * batch_size / end], **IDEAL, gid="ideal")


def _measured(curve: CurveAnalysis) -> list[tuple[int, float]]:
    return [(cell.batch_size, float(cell.steps.steps)) for cell in curve.cells if cell.steps.steps is not None]


def _legend(curves: Sequence[CurveAnalysis], unfinished: set[tuple[int, float]]) -> list[Line2D]:
    measured = {(batch_size, curve.sparsity) for curve in curves for batch_size, _ in _measured(curve)}
    found = [Line2D([], [], **IDEAL, label="ideal: linear")]
    if any(curve.scaling is not None for curve in curves):
        found.append(Line2D([], [], color=INK, linewidth=0.9, label="fit $c_1/B + c_2$, rms residual"))
    if measured:
        found.append(interval_handle())
    if measured & unfinished:
        found.append(unfinished_handle())
    return found
