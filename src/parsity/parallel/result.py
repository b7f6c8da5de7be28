"""What came of training with several workers, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from parsity.results import CellResult


@dataclass(frozen=True, kw_only=True)
class ParallelResult:
    """The trials' outcomes, and what a step cost with so many workers."""

    cell: CellResult
    workers: int
    backend: str
    """``gloo``, ``nccl``, or ``none`` for a worker alone."""
    packed: bool
    parameters: int
    kept: int
    """How many of the parameters survive."""
    steps: int
    """Steps taken, all trials together."""
    compute: float
    """Median seconds of gradient and update in a step, of the slowest rank."""
    exchange: float
    """Median seconds of averaging gradients in a step, waiting included."""
    bytes_per_step: int
    """What a rank hands over to be averaged in a step: its surviving gradients and the loss, four bytes each."""
    gradient_bytes: int
    """All of them together."""
    test_bytes: int
    """What a rank hands over for goal tests."""
    attempts: int = 1
    """How often it was begun; more than once where a rank was lost."""

    def document(self) -> dict[str, Any]:
        """Plain data, with each trial and each goal's outcome."""
        facts: dict[str, Any] = {name: value for name, value in vars(self).items() if name != "cell"}
        cell = self.cell
        return {
            "workload": cell.workload,
            "batch_size": cell.batch_size,
            "sparsity": cell.sparsity,
            "engine": cell.engine,
            "test": cell.test,
            "seconds": cell.seconds,
            **facts,
            "goals": [
                {"goal": goal, "steps_to_result": cell.steps_to_result(goal), "winner": _winner(cell, goal)}
                for goal in cell.goals
            ],
            "trials": [
                {
                    "trial": trial.number,
                    "metaparameters": dict(trial.metaparameters),
                    "steps": trial.steps,
                    "seconds": trial.seconds,
                    "images_looked_at": trial.images_looked_at,
                    "outcomes": [_outcome(goal, trial.outcomes, trial.test_errors) for goal in cell.goals],
                }
                for trial in cell.trials
            ],
        }


def _winner(cell: CellResult, goal: float) -> int | None:
    winner = cell.winner(goal)
    return winner.number if winner else None


def _outcome(goal: float, outcomes: Mapping[float, Any], test_errors: Mapping[float, float]) -> dict[str, Any]:
    outcome = outcomes[goal]
    return {
        "goal": goal,
        "status": outcome.status,
        "step": outcome.step,
        "last_miss": asdict(outcome).get("last_miss"),
        "test_error": test_errors.get(goal),
    }
