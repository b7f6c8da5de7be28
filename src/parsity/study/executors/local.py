"""One process per core on this machine.

Workers are long-lived: the data set is loaded once in each. A worker that dies or falls silent is replaced by a new
one, and its task fails; a worker whose driver has gone ends by itself. Terminal interrupts are the driver's business
alone, so workers ignore them.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from parsity.errors import ParsityError
from parsity.spawning import how_it_ended, importable_main, interrupts_wait
from parsity.study.executors.contract import Executor, Place
from parsity.study.tasks import Event, Failed, Final, Listener, Setting, Stopped, StopRequestedError, Task

logger = logging.getLogger(__name__)

SILENCE = 600.0  # seconds without a sign of life after which a worker counts as hung


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    task: Task | None = None
    heard: float = field(default_factory=time.monotonic)


class LocalExecutor(Executor):
    """``workers`` processes, each running one task at a time."""

    def __init__(self, setting: Setting, *, workers: int, ranks: int = 1, silence: float = SILENCE) -> None:
        """``ranks`` is how many processes each worker starts for a task; 1 is itself."""
        self.workers = workers
        self._ranks = ranks
        self._setting = setting
        self._silence = silence
        self._context = multiprocessing.get_context("spawn")
        self._crew: list[_Worker] = []
        self._stopping = False
        self._listened = time.monotonic()

    def start(self, listen: Listener) -> None:
        """Start the workers; they import torch while the driver plans."""
        self._listen = listen
        self._crew = [self._hire() for _ in range(self.workers)]
        self._listened = time.monotonic()

    @property
    def idle(self) -> int:
        """How many workers have no task."""
        return 0 if self._stopping else sum(worker.task is None for worker in self._crew)

    @property
    def crew(self) -> tuple[Place, ...]:
        """The processes there are."""
        node = socket.gethostname()
        return tuple(
            Place(node, worker.process.pid or 0, worker.task.number if worker.task else None) for worker in self._crew
        )

    def submit(self, task: Task) -> None:
        """Hand the task to an idle worker."""
        worker = next(worker for worker in self._crew if worker.task is None)
        worker.task, worker.heard = task, time.monotonic()
        # A worker that died while idle is found by `wait`, which then fails this task.
        _send(worker.connection, ("task", task))

    def share(self, task: int, goal: float, step: int) -> None:
        """Pass the news to the worker of that task."""
        for worker in self._crew:
            if worker.task is not None and worker.task.number == task:
                _send(worker.connection, ("reached", goal, step))

    def wait(self, seconds: float) -> None:
        """Deliver what workers say, and notice who says nothing any more."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready = multiprocessing.connection.wait([worker.connection for worker in self._crew], left)
            freed = [self._hear(worker) for worker in self._crew if worker.connection in ready]
            self._forgive_own_absence()
            for worker in self._crew:
                if worker.task is not None and time.monotonic() - worker.heard > self._silence:
                    self._replace(worker, f"it gave no sign of life for {self._silence:g} s")
                    freed.append(True)
            if any(freed) or time.monotonic() >= deadline:
                return

    def _forgive_own_absence(self) -> None:
        """Stopped for a while itself, by Ctrl-Z or a debugger, this process cannot know who was silent."""
        now = time.monotonic()
        if now - self._listened > max(self._silence / 2, 1.0):
            for worker in self._crew:
                worker.heard = now
        self._listened = now

    def stop(self) -> None:
        """Ask every worker to leave its checkpoint."""
        self._stopping = True
        for worker in self._crew:
            _send(worker.connection, ("stop",))

    def close(self) -> None:
        """Kill whoever is left."""
        for worker in self._crew:
            worker.connection.close()
            worker.process.kill()
        for worker in self._crew:
            worker.process.join()
        self._crew = []

    def _hire(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        # A daemon, in Python's sense, may not have processes of its own; `close` ends all either way.
        process = self._context.Process(target=_serve, args=(theirs, self._setting), daemon=self._ranks == 1)
        with importable_main(), interrupts_wait():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _hear(self, worker: _Worker) -> bool:
        """Deliver one message; say whether the worker is free now."""
        try:
            event: Event = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker, how_it_ended(worker.process))
            return True
        worker.heard = time.monotonic()
        ended = isinstance(event, Final)
        if ended:
            worker.task = None
        self._listen(event)
        return ended

    def _replace(self, worker: _Worker, reason: str) -> None:
        """Put a new process in the worker's place. Whatever the old one may still say, nobody listens to it."""
        task, pid = worker.task, worker.process.pid
        worker.connection.close()
        worker.process.kill()
        worker.process.join()
        new = self._hire() if not self._stopping else None
        index = self._crew.index(worker)
        self._crew[index : index + 1] = [new] if new is not None else []
        if task is not None:
            self._listen(Failed(task=task.number, reason=f"worker {pid} ended: {reason}"))


def _send(connection: Connection, message: tuple[Any, ...]) -> None:
    # A worker that is gone cannot be told anything; `wait` finds out.
    with contextlib.suppress(OSError):
        connection.send(message)


def _serve(connection: Connection, setting: Setting) -> None:
    """What a worker does until its driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Several workers on one machine: numerical libraries must not start threads of their own besides torch's.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from parsity.study.working import Bench

    def poll() -> None:
        while connection.poll():
            message = receive()
            if message[0] == "stop":
                raise StopRequestedError
            if message[0] == "reached" and bench is not None:
                bench.hear(*message[1:])

    def receive() -> Any:
        try:
            return connection.recv()
        except (EOFError, OSError):
            # The driver has gone, and with it anybody to work for; what was saved last is there to go on from.
            os._exit(1)

    def tell(event: Event) -> None:
        try:
            connection.send(event)
        except OSError:
            os._exit(1)

    bench: Bench | None = None  # made with the first task, so that its errors are a task's
    while True:
        message = receive()
        if message[0] == "stop":
            return
        if message[0] != "task":
            continue
        task: Task = message[1]
        try:
            if bench is None:
                bench = Bench(setting, tell, poll)
            event: Event = bench.run(task)
        except StopRequestedError:
            event = Stopped(task=task.number)
        except ParsityError as error:
            event = Failed.of(task, error)
        except Exception:
            event = Failed(task=task.number, reason=traceback.format_exc())
        tell(event)
        if isinstance(event, Stopped):
            return
