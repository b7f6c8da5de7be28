"""Some of a cell's trials in one process: begun or resumed, raced, saved now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parsity.pruning import Mask
from parsity.racing.bounds import Bounds, LocalBounds
from parsity.racing.cell import Cell
from parsity.racing.checkpoint import load_checkpoint, save_checkpoint
from parsity.racing.runner import Runner
from parsity.results import TrialResult
from parsity.training import Trial, derived_seed, test_error


class LeftForLaterError(Exception):
    """Raised by `Shard.run` when its passes are used up; the checkpoint stays, and running again goes on from there."""

    def __init__(self, step: int) -> None:
        super().__init__(f"nobody is at the goal after {step} steps")
        self.step = step


@dataclass(kw_only=True)
class Shard:
    """The trials ``numbers`` of ``cell``; other shards of the same cell share ``bounds``.

    With a ``checkpoint`` path the trials' states are saved there every so many seconds, and when ``pause`` raises to
    stop the race; running again goes on from there, bit for bit. It stays when the race has ended, for whoever keeps
    the results to remove (`remove_checkpoint`) once they are safe.
    """

    cell: Cell
    numbers: Sequence[int]
    bounds: Bounds = field(default_factory=LocalBounds)
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    pause: Callable[[], None] = lambda: None
    watch: Callable[[Runner | None], None] = lambda runner: None
    """Told of progress as often as ``pause`` is called; without a runner while trials are being prepared."""
    passes: float = math.inf
    """How often trials may go through the training split while nobody has reached a goal that they run for."""
    masks: dict[int, Mask] = field(default_factory=dict, init=False)

    def run(self) -> tuple[TrialResult, ...]:
        """Run to the end, and return results that are not yet settled against other shards'."""
        runner = Runner(
            self._trials(),
            self.bounds,
            patience=self.cell.patience,
            on_complete=self._test_winner,
            pause=lambda: self._paused(runner),
        )
        self._last_saved = time.monotonic()
        runner.run()
        return runner.results()

    @property
    def _identity(self) -> str:
        return f"{self.cell.identity} {self.cell.patience} {sorted(self.numbers)}"

    def _trials(self) -> list[Trial]:
        begun: dict[int, Trial] = {}
        for number in self.numbers:
            self.pause()
            self.watch(None)
            if self.cell.sparsity:
                self.masks[number] = self.cell.mask(number)
            begun[number] = self.cell.begin(number, self.masks.get(number))
        masks = {number: trial.mask for number, trial in begun.items()}
        saved = load_checkpoint(self.checkpoint, self._identity, masks) if self.checkpoint else None
        if saved is None:
            return list(begun.values())
        conditions = self.cell.conditions
        return [Trial(conditions, begun[state.number].metaparameters, masks[state.number], state) for state in saved]

    def _test_winner(self, trial: Trial, goal: float) -> None:
        """Note the test error of a trial that leads; only that of the final winner is ever reported."""
        cell = self.cell
        if trial.outcomes[goal].step <= self.bounds.best(goal):
            network = cell.workload.make_network(derived_seed(cell.seed, "weights", trial.number))
            error = test_error(network, cell.data, trial.replica.snapshot(), trial.mask)
            if error is not None:
                trial.test_errors[goal] = error

    def _paused(self, runner: Runner) -> None:
        # Only here is every trial whole. What comes from elsewhere, such as a Ctrl-C in the middle of a step, may leave
        # weights ahead of their step: then the checkpoint saved last stands.
        try:
            self.pause()
        except BaseException:
            self._save(runner)
            raise
        self.watch(runner)
        if (step := self._used_up(runner)) is not None:
            self._save(runner)
            raise LeftForLaterError(step)
        if self.checkpoint is not None and time.monotonic() - self._last_saved > self.checkpoint_seconds:
            self._save(runner)

    def _used_up(self, runner: Runner) -> int | None:
        """The step at which the slowest trial has gone through the data often enough, while a goal is still open."""
        pending = [trial for trial in runner.trials if trial.pending]
        if not pending or self.passes == math.inf:
            return None
        step = min(trial.step for trial in pending)
        goals = {goal for trial in pending for goal in trial.pending}
        enough = step * self.cell.batch_size >= self.passes * len(self.cell.split.train)
        return step if enough and any(math.isinf(self.bounds.best(goal)) for goal in goals) else None

    def _save(self, runner: Runner) -> None:
        if self.checkpoint is not None:
            masks = {trial.number: trial.mask for trial in runner.trials}
            save_checkpoint(self.checkpoint, self._identity, [trial.save() for trial in runner.trials], masks)
            self._last_saved = time.monotonic()
