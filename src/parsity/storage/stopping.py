"""SIGINT and SIGTERM, for those who write results."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def told_to_stop(stop: Callable[[], None]) -> Iterator[list[int]]:
    """While within, the first SIGINT or SIGTERM calls ``stop`` and the second ends the process; the list tells which.

    Signals come to the main thread; in others nothing changes.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if caught:
            # At once. Workers end when their driver is gone; what is stored is safe at any moment.
            os._exit(128 + number)
        caught.append(number)
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
