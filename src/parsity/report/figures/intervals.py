"""Intervals, drawn and written: open sides as arrows and as words."""

from __future__ import annotations

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parsity.analysis import Estimate
from parsity.report.figures.style import INK, finite

LONG = 9.0
"""An arrow's length in points."""
ROOM = 1.5
"""What an arrow needs on a logarithmic axis, as a factor; about as much as is drawn."""


def room(estimate: Estimate) -> tuple[float | None, float | None]:
    """How far down and up an interval's arrows reach, where it has any."""
    if not finite([estimate.value]) or estimate.value is None:
        return None, None
    down = estimate.value / ROOM if not finite([estimate.low]) else None
    return down, estimate.value * ROOM if not finite([estimate.high]) else None


def draw_interval(axes: Axes, x: float, estimate: Estimate, *, colour: str) -> None:
    """Draw a 95 % interval about its value at ``x``."""
    _draw(axes, x, estimate, colour, "y")


def draw_bar(axes: Axes, y: float, estimate: Estimate, *, colour: str, marker: str) -> None:
    """Draw a value and its interval along the x axis; what lies beyond it goes on as an arrow."""
    if not finite([estimate.value]) or estimate.value is None:
        return
    left, right = axes.get_xlim()
    value = min(max(estimate.value, left), right)
    low = estimate.low if finite([estimate.low]) and (estimate.low or 0) >= left else None
    high = estimate.high if finite([estimate.high]) and (estimate.high or 0) <= right else None
    if left < value < right:
        axes.plot(value, y, marker=marker, color=colour, gid="critical", zorder=3)
        _draw(axes, y, Estimate(value=value, low=low, high=high, n=estimate.n), colour, "x", beyond=(left, right))


def _draw(
    axes: Axes,
    at: float,
    estimate: Estimate,
    colour: str,
    along: Literal["x", "y"],
    *,
    beyond: tuple[float, float] | None = None,
) -> None:
    """Draw both sides, closed ones with a cap; arrows go to the ends of ``beyond``, or are of one length."""
    if not finite([estimate.value]) or estimate.value is None:
        return
    value = estimate.value

    def point(place: float, across: float) -> tuple[float, float]:
        return (place, across) if along == "x" else (across, place)

    for side, way, edge in ((estimate.low, -1, 0), (estimate.high, 1, 1)):
        if side is not None and finite([side]):
            xs, ys = zip(point(value, at), point(side, at), strict=True)
            axes.plot(xs, ys, color=colour, linewidth=0.8, solid_capstyle="butt", zorder=2, gid="interval")
            axes.plot(*point(side, at), marker="|" if along == "x" else "_", color=colour, markersize=3.2, zorder=2)
        elif beyond is not None:
            _arrow(axes, point(value, at), point(beyond[edge], at), colour, "data")
        else:
            _arrow(axes, point(value, at), point(way * LONG, 0), colour, "offset points")


def _arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    units: Literal["data", "offset points"],
) -> None:
    # The end is where the text would be: that alone can be given in points from the start.
    head = {"arrowstyle": "<-,head_length=0.18,head_width=0.12", "shrinkA": 0, "shrinkB": 0}
    arrow = {**head, "color": colour, "linewidth": 0.8}
    axes.annotate("", xy=start, xytext=end, textcoords=units, arrowprops=arrow, zorder=2, gid="open")


def interval_handle() -> Line2D:
    """What the legend shows for an interval."""
    return Line2D([], [], color=INK, marker="|", markersize=8, linestyle="none", label="95 % interval (arrow: open)")


def written(estimate: Estimate) -> str:
    """A value with its interval in words, to three digits."""
    if not finite([estimate.value]):
        return "not known"
    value, low, high = (_number(x) for x in (estimate.value, estimate.low, estimate.high))
    if low and high:
        return f"{value} ({low} to {high})"
    if not low and not high:
        return f"{value} (not bounded)"
    return f"{value} (at least {low})" if low else f"{value} (at most {high})"


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
