"""How trials ended, by marker and colour; a gold star for the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parsity.report.figures.style import FAINT, INK, Width
from parsity.results import CellResult, Status, TrialResult

Place = Callable[[TrialResult], float]
ORDER: tuple[Status, ...] = ("outpaced", "incomplete", "infeasible", "complete")
# Told apart without colour: a full disc, a ring, an open triangle, a cross.
_LOOKS: dict[Status, dict[str, Any]] = {
    "complete": {"marker": "o", "color": "#0072B2", "markeredgewidth": 0, "markersize": 3.6},
    "outpaced": {"marker": "o", "color": FAINT, "markerfacecolor": "none", "markeredgewidth": 0.5, "markersize": 2.4},
    "incomplete": {
        "marker": "v",
        "color": "#CC79A7",
        "markerfacecolor": "none",
        "markeredgewidth": 0.7,
        "markersize": 3.2,
    },
    "infeasible": {"marker": "x", "color": "#D55E00", "markeredgewidth": 0.7, "markersize": 2.8},
}
_STAR: dict[str, Any] = {"marker": "*", "color": "#FFC20A", "markeredgecolor": INK, "markeredgewidth": 0.5}
STARS: dict[Width, float] = {"page": 8.0, "column": 6.0}
"""How large the star is, in points."""


@dataclass(frozen=True)
class Cloud:
    """A cell's trials for one goal, as they are to be drawn."""

    cell: CellResult
    goal: float

    def of(self, status: Status) -> list[TrialResult]:
        """The trials that ended so."""
        return [trial for trial in self.cell.trials if trial.outcomes[self.goal].status == status]

    @property
    def best(self) -> TrialResult | None:
        """The trial whose steps are K*."""
        winner = self.cell.winner(self.goal)
        return winner.trial if winner else None


def draw_cloud(axes: Axes, cloud: Cloud, x: Callable[[TrialResult, Status], float], y: Place, *, star: float) -> None:
    """Draw every trial, those that matter most on top."""
    for layer, status in enumerate(ORDER):
        points = [(x(trial, status), y(trial)) for trial in cloud.of(status)]
        points = [point for point in points if all(map(math.isfinite, point))]
        if points:
            xs, ys = zip(*points, strict=True)
            axes.plot(xs, ys, linestyle="none", **_LOOKS[status], gid=status, zorder=2 + layer / 10)
    if cloud.best is not None:
        look = {**_STAR, "markersize": star, "clip_on": False, "zorder": 4, "gid": "best"}
        axes.plot(x(cloud.best, "complete"), y(cloud.best), linestyle="none", **look)


def handles(cells: Sequence[CellResult], goal: float, *, best: str) -> list[Line2D]:
    """The legend: each way in which trials ended, with how many did, then the best, called ``best``."""
    clouds = [Cloud(cell, goal) for cell in cells]
    found = []
    for status in reversed(ORDER):
        count = sum(len(cloud.of(status)) for cloud in clouds)
        if count:
            found.append(Line2D([], [], linestyle="none", **_LOOKS[status], label=f"{status} ({count:,})"))
    if any(cloud.best is not None for cloud in clouds):
        found.append(Line2D([], [], linestyle="none", **_STAR, markersize=7, label=best))
    return found


def of_goal(cells: Iterable[CellResult], goal: float) -> list[CellResult]:
    """The cells with trials for ``goal``."""
    return [cell for cell in cells if goal in cell.goals and cell.trials]
