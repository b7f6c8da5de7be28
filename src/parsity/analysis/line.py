"""A line through the cells of a curve, by least squares, with Student's intervals from their scatter about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from parsity.analysis.estimate import TAIL, Estimate


@dataclass(frozen=True, kw_only=True)
class Line:
    """y = level + slope (x - centre), the residuals' variance having ``n - 2`` degrees of freedom."""

    centre: float
    level: float
    slope: float
    spread: float
    """The sum of (x - centre)^2."""
    variance: float
    n: int

    def rising(self) -> Estimate:
        """The slope."""
        return self._estimate(self.slope, 1 / self.spread, float)

    def height(self, x: float, undo: Callable[[float], float] = float) -> Estimate:
        """The line itself at ``x``; ``undo`` leads from its units back."""
        there = x - self.centre
        return self._estimate(self.level + self.slope * there, 1 / self.n + there**2 / self.spread, undo)

    def middle(self, undo: Callable[[float], float] = float) -> Estimate:
        """Its height at the centre: the mean of all y."""
        return self.height(self.centre, undo)

    def _estimate(self, value: float, share: float, undo: Callable[[float], float]) -> Estimate:
        reach = float(stdtrit(self.n - 2, 1 - TAIL)) * math.sqrt(self.variance * share)
        sides = undo(value - reach), undo(value + reach)
        return Estimate(value=undo(value), low=sides[0], high=sides[1], n=self.n, source="scatter")


def line_through(x: ArrayLike, y: ArrayLike, *, least_variance: float = 0.0) -> Line | None:
    """The line; None through fewer than three points."""
    places, heights = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n = len(places)
    if n < 3:
        return None
    centre, level = float(places.mean()), float(heights.mean())
    away = places - centre
    spread = float(away @ away)
    slope = float(away @ heights) / spread
    residual = heights - level - slope * away
    variance = max(float(residual @ residual) / (n - 2), least_variance)
    return Line(centre=centre, level=level, slope=slope, spread=spread, variance=variance, n=n)
