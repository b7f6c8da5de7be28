"""One task after the other, in the driver's own process: no processes to go wrong, and a debugger's friend."""

from __future__ import annotations

import os
import socket
import traceback
from typing import TYPE_CHECKING

from parsity.errors import ParsityError
from parsity.study.executors.contract import Executor, Place
from parsity.study.tasks import Failed, Listener, Setting, Stopped, StopRequestedError, Task

if TYPE_CHECKING:
    from parsity.study.working import Bench


class SerialExecutor(Executor):
    """Runs a task to its end within `wait`."""

    workers = 1

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._task: Task | None = None
        self._bench: Bench | None = None

    def start(self, listen: Listener) -> None:
        """Get ready."""
        self._listen = listen

    @property
    def idle(self) -> int:
        """One, between tasks."""
        return int(self._task is None and not self.asked_to_stop)

    @property
    def crew(self) -> tuple[Place, ...]:
        """This process."""
        return (Place(socket.gethostname(), os.getpid(), self._task.number if self._task else None),)

    def submit(self, task: Task) -> None:
        """Keep the task for the next `wait`."""
        self._task = task

    def share(self, task: int, goal: float, step: int) -> None:
        """Nobody else runs meanwhile; what the task itself reached it knows."""

    def wait(self, seconds: float) -> None:
        """Run what was submitted."""
        task = self._task
        if task is None:
            return
        try:
            if self._bench is None:
                from parsity.study.working import Bench

                self._bench = Bench(self._setting, self._listen, self._poll)
            event = self._bench.run(task)
        except StopRequestedError:
            self._task = None
            self._listen(Stopped(task=task.number))
        except ParsityError as error:
            self._task = None
            self._listen(Failed.of(task, error))
        except Exception:
            self._task = None
            self._listen(Failed(task=task.number, reason=traceback.format_exc()))
        else:
            self._task = None
            self._listen(event)

    def stop(self) -> None:
        """End at the next moment of training."""
        self.asked_to_stop = True

    def close(self) -> None:
        """Nothing is left over."""

    def _poll(self) -> None:
        if self.asked_to_stop:
            raise StopRequestedError
