"""What a driver has in hand, what it left for another run, and when it should be done."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from parsity.study.costs import CellKey
from parsity.study.tasks import Task


@dataclass
class Running:
    """A task in a worker's hands."""

    task: Task
    seconds: float
    """Expected."""
    started: float = field(default_factory=time.monotonic)
    step: int = 0
    images: int = 0
    images_before: int = 0

    @property
    def left(self) -> float:
        """Expected seconds from now; a task that is overdue is expected to take a while yet."""
        passed = time.monotonic() - self.started
        return max(self.seconds - passed, 0.2 * passed)


@dataclass(frozen=True)
class LeftPiece:
    """Trials of a cell that have used their passes up at ``step``, and go on in another run."""

    cell: CellKey
    trials: tuple[int, ...]
    step: int


@dataclass(frozen=True)
class Eta:
    """Seconds to the end, with an interval that should hold two times in three."""

    low: float
    middle: float
    high: float
