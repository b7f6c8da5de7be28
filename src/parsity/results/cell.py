"""The results of a trial and of a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parsity.errors import UsageError
from parsity.results.outcomes import Complete, Outcome, Status


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """One trial: what it was run with, how it ended for each goal, and what it cost."""

    number: int
    metaparameters: Mapping[str, float | int | str]
    outcomes: Mapping[float, Outcome]
    steps: int
    images_looked_at: int
    seconds: float = 0.0
    test_errors: Mapping[float, float] = field(default_factory=dict)
    """The error on the test split at each goal's step, where this trial was its cell's winner."""
    log: tuple[tuple[int, float, float], ...] = ()
    """(step, mean training loss since the entry before, validation error), where a log was asked for."""
    step_seconds: float | None = None
    """What one of its training steps took, goal tests apart: the median over its calls of the engine."""
    timed_steps: int = 0
    """How many steps that is the median of; after an interruption, of those since."""
    bytes_per_step: int = 0
    """Bytes that each of its ranks handed over to be summed in a step; none where one process computed it."""


@dataclass(frozen=True)
class Winner:
    """The trial that reached a goal in the fewest steps."""

    trial: TrialResult
    step: int
    last_miss: int

    @property
    def number(self) -> int:
        """Its number in the search sequence."""
        return self.trial.number


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """One (batch size, sparsity) of a workload, raced to its end."""

    workload: str
    batch_size: int
    sparsity: float
    goals: tuple[float, ...]
    patience: float
    trials: tuple[TrialResult, ...]
    engine: str
    test: str
    seconds: float

    def winner(self, goal: float | None = None) -> Winner | None:
        """Who needed the fewest steps; ties go to the lowest trial number; None where no trial was complete."""
        goal = self._goal(goal)
        best: Winner | None = None
        for trial in sorted(self.trials, key=lambda one: one.number):
            outcome = trial.outcomes[goal]
            if isinstance(outcome, Complete) and (best is None or outcome.step < best.step):
                best = Winner(trial, outcome.step, outcome.last_miss)
        return best

    def steps_to_result(self, goal: float | None = None) -> int | None:
        """K*: the lowest complete step over the trials."""
        winner = self.winner(goal)
        return winner.step if winner else None

    def counts(self, goal: float | None = None) -> dict[Status, int]:
        """How many trials ended in each way."""
        goal = self._goal(goal)
        return dict(Counter(trial.outcomes[goal].status for trial in self.trials))

    @property
    def image_passes(self) -> int:
        """Images trained on and images looked at by goal tests, repetitions counted."""
        return sum(trial.steps * self.batch_size + trial.images_looked_at for trial in self.trials)

    def summary(self) -> dict[str, Any]:
        """The cell in plain data, one entry per goal."""
        goals = []
        for goal in self.goals:
            winner = self.winner(goal)
            goals.append(
                {
                    "goal": goal,
                    "steps_to_result": winner.step if winner else None,
                    "last_miss": winner.last_miss if winner else None,
                    "winner": winner.number if winner else None,
                    "metaparameters": dict(winner.trial.metaparameters) if winner else None,
                    "test_error": winner.trial.test_errors.get(goal) if winner else None,
                    "outcomes": self.counts(goal),
                }
            )
        return {
            "workload": self.workload,
            "batch_size": self.batch_size,
            "sparsity": self.sparsity,
            "patience": self.patience,
            "trials": len(self.trials),
            "engine": self.engine,
            "test": self.test,
            "image_passes": self.image_passes,
            "seconds": self.seconds,
            "goals": goals,
        }

    def _goal(self, goal: float | None) -> float:
        if goal is None and len(self.goals) == 1:
            return self.goals[0]
        if goal not in self.goals:
            raise UsageError(f"goal {goal}: this cell has {', '.join(map(str, self.goals))}")
        return goal
