"""What every executor offers the driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from parsity.study.tasks import Listener, Task


@dataclass(frozen=True)
class Place:
    """Where a worker is, and the number of the task it runs."""

    node: str
    process: int
    task: int | None


class Executor(ABC):
    """Runs tasks, each in one worker, and tells a listener what happens. The driver is its only user.

    Whatever becomes of a worker, each submitted task ends in exactly one of `Finished`, `Failed`, `Stopped` or `Left`.
    """

    workers: int
    """How many tasks it runs at a time."""
    asked_to_stop: bool = False
    """Set by a signal handler: whoever runs a task in the driver's own process ends it at the next moment."""

    @abstractmethod
    def start(self, listen: Listener) -> None:
        """Get ready; events go to ``listen``, in the thread that calls `wait`."""

    @property
    @abstractmethod
    def idle(self) -> int:
        """How many more tasks it can take at once."""

    @property
    @abstractmethod
    def crew(self) -> tuple[Place, ...]:
        """The workers there are."""

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Run ``task``; only while something is idle."""

    @abstractmethod
    def share(self, task: int, goal: float, step: int) -> None:
        """Tell a running task what another of its cell has reached."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Deliver events for at most so long; return at once after one that frees a worker."""

    @abstractmethod
    def stop(self) -> None:
        """Ask all tasks to leave their checkpoints and end; `wait` goes on delivering."""

    @abstractmethod
    def close(self) -> None:
        """End everything at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
