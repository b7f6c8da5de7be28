"""Lockstep: all trials advance one check interval at a time, and the first complete ends the cell for the others.

With patience 1 the cost is (number of trials) x K* steps, the least that proves no trial was faster; started one after
the other, a single unlucky trial would burn the whole step limit. With patience rho the others go on to rho x K*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parsity.racing.bounds import Bounds
from parsity.results import Complete, TrialResult
from parsity.training import Trial

Finished = Callable[[Trial, float], None]
"""Called with a trial the moment it is complete for a goal, with its weights still as they are."""


class Runner:
    """Some or all of a cell's trials, in lockstep. Several runners may share a cell through its bounds."""

    def __init__(
        self,
        trials: Sequence[Trial],
        bounds: Bounds,
        *,
        patience: float,
        on_complete: Finished | None = None,
        pause: Callable[[], None] | None = None,
    ) -> None:
        self.trials = sorted(trials, key=lambda trial: trial.number)
        self._bounds = bounds
        self._patience = patience
        self._on_complete = on_complete or (lambda trial, goal: None)
        # Called every few thousand images, between steps, when every trial can be saved; it may raise to stop.
        self._pause = pause or (lambda: None)
        self.images_before = self.images  # what the trials brought from a checkpoint
        for trial in self.trials:
            self._announce(trial, ())

    def run(self) -> None:
        """Go on until every trial has an outcome for every goal. Raising from ``pause`` leaves all trials whole."""
        interval = self.trials[0].conditions.workload.check_interval if self.trials else 1
        active = [trial for trial in self.trials if trial.pending]
        # After an interruption some are an interval ahead: the ones behind go first.
        check = min((trial.step // interval for trial in active), default=0)
        while active:
            check += 1
            for trial in active:
                while trial.step < check * interval and self._worth_while(trial, interval):
                    self._work(trial)
            active = [trial for trial in active if trial.pending]

    def _worth_while(self, trial: Trial, interval: int) -> bool:
        next_check = (trial.step // interval + 1) * interval
        for goal in trial.pending:
            if next_check > self._patience * self._bounds.best(goal):
                trial.outpace(goal)
        return bool(trial.pending)

    def _work(self, trial: Trial) -> None:
        pending = trial.pending
        trial.work()
        self._announce(trial, tuple(goal for goal in pending if goal in trial.outcomes))
        self._pause()

    def _announce(self, trial: Trial, fresh: Sequence[float]) -> None:
        for goal, outcome in trial.outcomes.items():
            if isinstance(outcome, Complete):
                if goal in fresh:
                    self._on_complete(trial, goal)
                self._bounds.offer(goal, outcome.step)

    @property
    def images(self) -> int:
        """How many images the trials have trained on or looked at."""
        return sum(trial.images for trial in self.trials)

    def results(self) -> tuple[TrialResult, ...]:
        """The trials' results so far, not yet settled against the other runners'."""
        return tuple(
            TrialResult(
                number=trial.number,
                metaparameters=trial.metaparameters,
                outcomes=dict(trial.outcomes),
                steps=trial.step,
                images_looked_at=trial.images_looked_at,
                seconds=trial.seconds,
                test_errors=dict(trial.test_errors),
                log=tuple((entry.step, entry.training_loss, entry.validation_error) for entry in trial.log),
                step_seconds=trial.step_seconds,
                timed_steps=trial.timed_steps,
            )
            for trial in self.trials
        )
