"""How a trial ended, for one goal. A type, never a sentinel: each kind knows what it may say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from parsity.errors import DamagedError

Status = Literal["complete", "incomplete", "infeasible", "outpaced"]


@dataclass(frozen=True)
class Complete:
    """The goal test passed after ``step`` steps, for the first time; it last failed after ``last_miss``.

    The first step at which the goal would have been met lies in (last_miss, step].
    """

    step: int
    last_miss: int
    status: ClassVar[Status] = "complete"


@dataclass(frozen=True)
class Incomplete:
    """The goal was not met within ``step`` steps, the step limit."""

    step: int
    status: ClassVar[Status] = "incomplete"


@dataclass(frozen=True)
class Infeasible:
    """In the step after ``step`` whole ones, the loss or a weight became infinite or not a number."""

    step: int
    status: ClassVar[Status] = "infeasible"


@dataclass(frozen=True)
class Outpaced:
    """Stopped after ``step`` steps, because another trial had made it impossible to win."""

    step: int
    status: ClassVar[Status] = "outpaced"


Outcome = Complete | Incomplete | Infeasible | Outpaced


def outcome_from_row(status: str, step: int, last_miss: int | None) -> Outcome:
    """The outcome that was stored as these three values."""
    if status == "complete" and last_miss is not None:
        return Complete(step, last_miss)
    kinds: dict[str, type[Incomplete | Infeasible | Outpaced]] = {
        kind.status: kind for kind in (Incomplete, Infeasible, Outpaced)
    }
    if status not in kinds or last_miss is not None:
        raise DamagedError(f"stored outcome {(status, step, last_miss)!r} is none that Parsity writes")
    return kinds[status](step)
