"""What a task has to say while it runs, and what it is told."""

from __future__ import annotations

import time

from parsity.racing import LocalBounds, Runner
from parsity.study.tasks import Listener, Progressed, Reached, Task

TELL_EVERY = 0.5  # seconds between signs of life


class News(LocalBounds):
    """A task's bounds: what its own trials reach is told to the driver, what others reach comes in by `hear`."""

    def __init__(self, task: Task, listen: Listener) -> None:
        super().__init__(task.bounds)
        self._task = task
        self._listen = listen
        self._last_told = 0.0

    def hear(self, goal: float, step: int) -> None:
        """Somebody else who runs this cell has reached ``goal``."""
        super().offer(goal, step)

    def offer(self, goal: float, step: int) -> None:
        """A trial of this task has: tell the driver."""
        if step < self.best(goal):
            self._listen(Reached(task=self._task.number, goal=goal, step=step))
        super().offer(goal, step)

    def tell(self, runner: Runner | None) -> None:
        """Say now and then how far the task is; without a runner, that it is still preparing."""
        now = time.monotonic()
        if now - self._last_told < TELL_EVERY:
            return
        self._last_told = now
        trials = runner.trials if runner is not None else []
        self._listen(
            Progressed(
                task=self._task.number,
                step=min((trial.step for trial in trials if trial.pending), default=0),
                images=runner.images if runner is not None else 0,
                images_before=runner.images_before if runner is not None else 0,
            )
        )
