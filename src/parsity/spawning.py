"""Processes of our own: how they are started, and how they ended."""

from __future__ import annotations

import contextlib
import multiprocessing.resource_tracker
import signal
import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess


def how_it_ended(process: BaseProcess) -> str:
    """In words, with the signal's name where it was one."""
    process.join(timeout=5)
    code = process.exitcode
    if code is None:
        return "it closed its connection"
    if code < 0:
        names = {signal.SIGKILL: " (killed, or out of memory)", signal.SIGSEGV: " (segmentation fault)"}
        return f"signal {signal.Signals(-code).name}{names.get(signal.Signals(-code), '')}"
    return f"exit code {code}"


@contextlib.contextmanager
def importable_main() -> Iterator[None]:
    """Keep a spawned worker from running the user's script again.

    Workers import what they need by name. Without this, a script without an ``if __name__ == "__main__"`` guard would
    start a study in every worker.
    """
    main = sys.modules["__main__"]
    saved = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    try:
        for name in saved:
            setattr(main, name, None)
        yield
    finally:
        for name, value in saved.items():
            setattr(main, name, value)


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Hold SIGINT back; what is started within begins life that way, and has time to say that it ignores it."""
    # The first process to be spawned would start this tracker, which lifts the block again.
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
