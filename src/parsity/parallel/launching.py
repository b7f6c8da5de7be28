"""Ranks on this machine, started and watched by one process.

They meet through a file and talk over the loopback device. The process that starts them sees at once when one is gone,
gives the others a moment to notice by themselves, and leaves none behind; ranks whose starter is gone end too.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from parsity.errors import ParsityError, UsageError
from parsity.parallel.job import Ask, Job, Say
from parsity.parallel.losing import TIMEOUT, FailedRankError, LostRankError
from parsity.spawning import how_it_ended, importable_main, interrupts_wait

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
GRACE = 10.0
"""Seconds for the others to notice that a rank is gone, before they are ended."""
ASK_EVERY = 0.1
"""Seconds between asking for what to send to the ranks."""
PRELOADED = ["parsity.parallel.training", "parsity.parallel.timing"]


@dataclass
class _Rank:
    number: int
    process: BaseProcess
    connection: Connection
    ended: str | None = None
    """How, once it has: "done", or the reason."""
    lost: bool = True
    """Whether it ended for another rank's sake or without a word, and not by an error of its own."""
    spoke: bool = False


def launch(
    job: Job[Answer],
    *,
    workers: int,
    timeout: float = TIMEOUT,
    say: Say = lambda text: None,
    ask: Ask | None = None,
    grace: float = GRACE,
) -> Answer:
    """Let ``workers`` new processes do ``job`` together, and return what rank 0 found.

    A rank that dies ends the job: `LostRankError` names it, and how it ended. An error that Parsity expected is raised
    here as it was there.
    """
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{workers} workers: the workload cannot be sent to another process ({error}); name its data and network "
            "by import path, like mypackage.nets:make"
        ) from error
    # Ranks are forked from a server that has imported everything, once, and done nothing else.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED, type(job).__module__])
    with tempfile.TemporaryDirectory(prefix="parsity-ranks-") as folder:
        place = (Path(folder) / "meeting").as_uri()
        crew: list[_Rank] = []
        try:
            with importable_main(), interrupts_wait():
                for number in range(workers):
                    ours, theirs = context.Pipe()
                    arguments = (theirs, job, number, workers, place, timeout)
                    process = context.Process(target=_serve, args=arguments, daemon=True)
                    process.start()
                    theirs.close()
                    crew.append(_Rank(number, process, ours))
            answer: Answer = _Watch(crew, say, ask, grace).answer()
            return answer
        finally:
            for rank in crew:
                rank.process.kill()
            for rank in crew:
                rank.process.join()
                rank.connection.close()


def insisting(attempt: Callable[[], Answer], *, retries: int, say: Say = lambda text: None) -> tuple[Answer, int]:
    """Try ``attempt`` again, at most ``retries`` times, while ranks are lost; also return how often it was tried."""
    tried = 0
    while True:
        tried += 1
        try:
            return attempt(), tried
        except LostRankError as error:
            if tried > retries:
                raise
            say(f"{error}; trying again ({tried} of {retries})")


class _Watch:
    def __init__(self, crew: list[_Rank], say: Say, ask: Ask | None, grace: float) -> None:
        self._crew, self._say, self._ask, self._grace = crew, say, ask, grace
        self._answer: Any = None
        self._error: ParsityError | None = None

    def answer(self) -> Any:
        deadline: float | None = None
        while left := [rank for rank in self._crew if rank.ended is None]:
            self._send()
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self._ask is not None:
                wait = ASK_EVERY if wait is None else min(wait, ASK_EVERY)
            ready = multiprocessing.connection.wait([rank.connection for rank in left], wait)
            if deadline is not None and time.monotonic() >= deadline:
                break
            for rank in left:
                if rank.connection in ready:
                    self._hear(rank)
            if deadline is None and any(rank.ended not in (None, "done") for rank in left):
                deadline = time.monotonic() + self._grace
        self._raise()
        return self._answer

    def _send(self) -> None:
        for letter in self._ask() if self._ask is not None else ():
            with contextlib.suppress(OSError):  # a rank that is gone is found by waiting for it
                self._crew[0].connection.send_bytes(pickle.dumps(letter))

    def _hear(self, rank: _Rank) -> None:
        try:
            message = rank.connection.recv_bytes()
        except (EOFError, OSError):
            rank.ended = how_it_ended(rank.process)
            return
        kind, what = pickle.loads(message)  # noqa: S301 - from a process of our own
        if kind == "said":
            self._say(what)
            return
        rank.spoke = True
        if kind == "done":
            rank.ended = "done"
            if rank.number == 0:
                self._answer = what
            return
        rank.ended = str(what)
        if kind == "error":
            rank.lost = False
            if isinstance(what, ParsityError):
                self._error = self._error or what

    def _raise(self) -> None:
        """Name the rank that began it: an error of its own, or a death; the others only followed."""
        if self._crew[0].ended == "done":  # the answer is that of all, whatever became of them since
            return
        if self._error is not None:
            raise self._error
        size = len(self._crew)
        said = {rank.number: rank.ended for rank in self._crew if rank.spoke and rank.ended is not None}
        for rank in self._crew:
            if not rank.lost and rank.ended != "done":
                raise FailedRankError(f"rank {rank.number} of {size} failed:\n{rank.ended}")
        dead = [rank for rank in self._crew if not rank.spoke]
        if not dead:
            raise LostRankError("; ".join(dict.fromkeys(said.values())), said)
        how = "; ".join(
            f"rank {rank.number} of {size} {'gave no sign of life' if rank.ended is None else f'ended: {rank.ended}'}"
            for rank in dead
        )
        raise LostRankError(f"{how}{'; the others ended with it' if len(dead) < size else ''}", said)


def _serve(connection: Connection, job: Job[Any], rank: int, size: int, place: str, timeout: float) -> None:
    """What one rank does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the starter's business
    # Several ranks on one machine: numerical libraries must not start threads of their own besides torch's.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"  # nobody else can reach it there
    threading.Thread(target=_end_with_starter, daemon=True).start()
    lock = threading.Lock()

    def tell(kind: str, what: object) -> None:
        with lock, contextlib.suppress(OSError):
            # As bytes: torch would send a tensor as a claim on memory of a process that is about to end.
            connection.send_bytes(pickle.dumps((kind, what)))

    def post() -> list[Any]:
        letters = []
        with contextlib.suppress(EOFError, OSError):
            while connection.poll():
                letters.append(pickle.loads(connection.recv_bytes()))  # noqa: S301 - from a process of our own
        return letters

    from parsity.parallel.group import joined

    try:
        with joined(rank, size, place=place, device=job.device, timeout=timeout, post=post) as group:
            found = job.run(group, (lambda text: tell("said", text)) if rank == 0 else lambda text: None)
            tell("done", found if rank == 0 else None)
            group.gathered(None)  # nobody leaves while another still needs the connection
    except LostRankError as error:
        tell("lost", str(error))
        _leave(error.exit_code)
    except ParsityError as error:
        tell("error", error)
        _leave(error.exit_code)
    except Exception:
        tell("error", traceback.format_exc())
        _leave(1)


def _leave(code: int) -> None:
    """Without goodbyes, for which a broken connection would have to answer."""
    os._exit(code)


def _end_with_starter() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
