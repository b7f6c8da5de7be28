"""Time and cost of reaching the goal against the number of workers, for dense and each sparsity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from parsity.analysis import Estimate
from parsity.planning import Plan, Point, spoken
from parsity.report.figures.intervals import draw_interval, interval_handle, room
from parsity.report.figures.style import (
    FAINT,
    INK,
    NOTE,
    CurveStyle,
    Width,
    house_style,
    limits,
    log2_axis,
    new_figure,
    sparsity_label,
    styles,
    title,
)

ASIDE = 0.08
"""Octaves between the lines, so that intervals do not hide each other."""
ROUND = (
    *(factor * 1e-6 for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(factor * 1e-3 for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(float(factor) for factor in (1, 2, 5, 10, 30)),
    *(factor * 60.0 for factor in (1, 2, 5, 10, 30)),
    *(factor * 3600.0 for factor in (1, 2, 5, 12)),
    *(factor * 86400.0 for factor in (1, 2, 5, 10, 30, 100, 300, 1000)),
)
"""Times that people think in, in seconds."""
MOST_TICKS = 7
DOTTED: dict[str, Any] = {"linewidth": 0.7, "linestyle": (0, (1, 1.5))}
STAR: dict[str, Any] = {"marker": "*", "markeredgecolor": INK, "markeredgewidth": 0.5, "markersize": 9, "zorder": 4}


def draw_time_to_result(plan: Plan, *, width: Width = "page", heading: str | None = None) -> Figure:
    """Draw the time to the goal, what it costs in workers' time, and the global batch, over the number of workers."""
    looks = styles([line.sparsity for line in plan.lines])
    with house_style():
        side = width == "page"
        figure = new_figure(width, 2.9 if side else 6.4)
        time, cost, batch = figure.subplots(1, 3) if side else figure.subplots(3, 1)
        _panel(time, plan, looks, lambda point: point.seconds, plan.wish.deadline, "deadline")
        _panel(cost, plan, looks, lambda point: point.worker_seconds, plan.wish.budget, "budget")
        _batches(batch, plan, looks)
        time.set_title("time to the goal", loc="left")
        cost.set_title("its cost: workers x time", loc="left")
        batch.set_title("the best global batch", loc="left")
        for line in plan.lines:
            _draw_ideal(time, line.points[0], looks[line.sparsity].colour)
        title(figure, heading or f"{plan.study}: how many workers, goal {plan.goal:g}")
        handles = [*time.get_legend_handles_labels()[0], interval_handle()]
        handles.append(Line2D([], [], **DOTTED, color=INK, label="ideal: W times as fast"))
        star = {**STAR, "markersize": 8}
        if any(one.point is not None for one in plan.choices if one.aim == _shown(plan)):
            handles.append(Line2D([], [], **star, color=FAINT, linestyle="none", label=_starred(plan)))
        figure.legend(handles=handles, loc="outside lower center", ncols=4 if side else 1)
    return figure


def _panel(
    panel: Axes,
    plan: Plan,
    looks: dict[float, CurveStyle],
    of: Callable[[Point], Estimate],
    limit: float | None,
    called: str,
) -> None:
    points = [point for line in plan.lines for point in line.points]
    log2_axis(panel, "x", limits([point.workers for point in points], margin=1.35), most=6, plain=True)
    found = [of(point) for point in points]
    span = limits([x for e in found for x in (e.value, e.low, e.high, *room(e))] + [limit], margin=1.25)
    _time_axis(panel, span)
    panel.set_xlabel("workers")
    starred = {
        (one.sparsity, one.point.workers) for one in plan.choices if one.point is not None and one.aim == _shown(plan)
    }
    for place, line in enumerate(plan.lines):
        look = looks[line.sparsity]
        aside = 2 ** (ASIDE * (place - (len(plan.lines) - 1) / 2))
        for point in line.points:
            draw_interval(panel, point.workers * aside, of(point), colour=look.colour)
        xs = [point.workers * aside for point in line.points]
        ys = [of(point).value or math.nan for point in line.points]
        shape: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.dashes}
        panel.plot(xs, ys, **shape, label=sparsity_label(line.sparsity), zorder=3, gid="time")
        for x, y, point in zip(xs, ys, line.points, strict=True):
            if (line.sparsity, point.workers) in starred:
                panel.plot(x, y, color=look.colour, **STAR)
    if limit is not None:
        panel.axhline(limit, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1, gid="limit")
        at = panel.get_xlim()[1]
        panel.text(at, limit, f"{called} {spoken(limit)}", ha="right", va="bottom", fontsize=6, color=NOTE)


def _shown(plan: Plan) -> str:
    """The aim whose choices the stars are."""
    return "deadline" if plan.wish.deadline is not None else "budget" if plan.wish.budget is not None else "fastest"


def _starred(plan: Plan) -> str:
    aims = {"deadline": "cheapest by the deadline", "budget": "fastest within the budget", "fastest": "fastest"}
    return aims[_shown(plan)]


def _draw_ideal(panel: Axes, first: Point, colour: str) -> None:
    if first.seconds.value is None:
        return
    end = panel.get_xlim()[1]
    ys = [first.seconds.value, first.seconds.value * first.workers / end]
    panel.plot([first.workers, end], ys, **DOTTED, color=colour, zorder=1.5, gid="ideal")


def _batches(panel: Axes, plan: Plan, looks: dict[float, CurveStyle]) -> None:
    points = [point for line in plan.lines for point in line.points]
    log2_axis(panel, "x", limits([point.workers for point in points], margin=1.35), most=6, plain=True)
    log2_axis(panel, "y", limits([point.batch_size for point in points]), plain=True)
    panel.set_xlabel("workers")
    for place, line in enumerate(plan.lines):
        look = looks[line.sparsity]
        aside = 2 ** (ASIDE * (place - (len(plan.lines) - 1) / 2))
        xs, ys = [point.workers * aside for point in line.points], [point.batch_size for point in line.points]
        panel.plot(xs, ys, color=look.colour, marker=look.marker, linestyle=look.dashes, gid="batch")


def _time_axis(panel: Axes, span: tuple[float, float]) -> None:
    """A logarithmic axis of times, with ticks at round ones."""
    panel.set(yscale="log", ylim=span)
    inside = [tick for tick in ROUND if span[0] <= tick <= span[1]]
    if len(inside) > 1:
        panel.yaxis.set_major_locator(FixedLocator(_thinned(inside)))
    else:
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: spoken(value)))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_minor_locator(FixedLocator([]))


def _thinned(ticks: Sequence[float]) -> list[float]:
    """No more than a few, about evenly apart on the logarithmic axis."""
    apart = math.log(ticks[-1] / ticks[0]) / MOST_TICKS
    kept = [ticks[0]]
    for tick in ticks[1:]:
        if math.log(tick / kept[-1]) >= apart:
            kept.append(tick)
    return kept
