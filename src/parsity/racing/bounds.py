"""The fewest steps anybody has needed so far: what makes further steps of the others pointless."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol


class Bounds(Protocol):
    """Shared by all runners of a cell; it only ever falls, so reading an old value costs time and not exactness."""

    def best(self, goal: float) -> float:
        """The lowest complete step known for ``goal``; infinite while there is none."""

    def offer(self, goal: float, step: int) -> None:
        """Tell the others that a trial reached ``goal`` at ``step``."""


class LocalBounds:
    """Bounds within one process."""

    def __init__(self, known: Mapping[float, float] | None = None) -> None:
        self._best: dict[float, float] = dict(known or {})

    def best(self, goal: float) -> float:
        """The lowest complete step known for ``goal``."""
        return self._best.get(goal, math.inf)

    def offer(self, goal: float, step: int) -> None:
        """Keep the lower of this and what is known."""
        self._best[goal] = min(self.best(goal), step)
