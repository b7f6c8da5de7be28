"""What travels between the driver and whoever runs shards: tasks one way, events the other. Plain, picklable values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from parsity.errors import ParsityError
from parsity.parallel import FailedRankError, LostRankError
from parsity.results import EngineChoice, TrialResult


class StopRequestedError(Exception):
    """Raised within a task, between steps, to end it; its checkpoint stays."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What every task of a study shares; given to a worker once."""

    spec: str
    """The spec in JSON."""
    folder: Path
    data_folder: Path | None = None
    checkpoint_seconds: float = 60.0
    passes: float = math.inf
    """How often trials may go through the training split before a cell that nobody finishes is left for later."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Some trials of one cell, to be raced by one worker."""

    number: int
    batch_size: int
    sparsity: float
    trials: tuple[int, ...]
    bounds: Mapping[float, float]
    attempt: int = 1
    engine: str = "auto"
    """What computes it; for "auto", the worker chooses, and says so before it begins."""

    @property
    def cell(self) -> tuple[int, float]:
        """Batch size and sparsity."""
        return self.batch_size, self.sparsity

    def __str__(self) -> str:
        numbers = f"trials {self.trials[0]}-{self.trials[-1]}" if len(self.trials) > 1 else f"trial {self.trials[0]}"
        return f"B={self.batch_size} S={self.sparsity:g} {numbers}"


@dataclass(frozen=True, kw_only=True)
class Progressed:
    """A task is alive and this far: its slowest trial's step, and the images it has trained on or looked at.

    ``images_before`` of them were in the checkpoint that it goes on from.
    """

    task: int
    step: int
    images: int
    images_before: int


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A trial of the task has reached a goal: news for whoever else runs that cell."""

    task: int
    goal: float
    step: int


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The task's cell had no engine, and has been given one: from now on it is the cell's."""

    task: int
    choice: EngineChoice


@dataclass(frozen=True, kw_only=True)
class CutOff:
    """A trial's mask leaves no path through these layers, so that it cannot learn."""

    task: int
    trial: int
    layers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A task's results, not yet settled against those of the cell's other tasks."""

    task: int
    results: tuple[TrialResult, ...]
    engine: str
    mask_digests: Mapping[int, str]


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A task ended without results: its worker died, hung, or met an error."""

    task: int
    reason: str
    final: type[ParsityError] | None = None
    """The kind of error where trying again is pointless: the user's input, a full disk, damaged files."""

    @classmethod
    def of(cls, task: Task, error: ParsityError) -> Failed:
        """Of an error that a person has to mend; a more special one travels as the kind with its exit code.

        What became of a task's ranks is none of these: like a worker that died, it may go better next time.
        """
        if isinstance(error, LostRankError | FailedRankError):
            return cls(task=task.number, reason=str(error))
        kind = next(kind for kind in type(error).__mro__ if kind.__module__ == ParsityError.__module__)
        return cls(task=task.number, reason=str(error), final=kind)


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A task was told to stop, and has left its checkpoint."""

    task: int


@dataclass(frozen=True, kw_only=True)
class Left:
    """A task has used its passes up at ``step`` without reaching a goal, and left its checkpoint for another run."""

    task: int
    step: int


Final = Finished | Failed | Stopped | Left
"""What a task ends in, exactly one of them."""
Event = Progressed | Reached | Chosen | CutOff | Final
Listener = Callable[[Event], None]
