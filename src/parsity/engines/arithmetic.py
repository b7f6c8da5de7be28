"""How this process computes while trials run; afterwards it computes as it did before."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


@contextmanager
def arithmetic(*, threads: int | None = None) -> Iterator[None]:
    """Within: denormals are zero, and torch has ``threads`` threads (as many as before, unless told)."""
    threads_before = torch.get_num_threads()
    flushed_before = sys.float_info.min / 2 == 0.0
    # Momentum tails decay through the denormals, where each multiplication costs a hundred ordinary ones.
    torch.set_flush_denormal(True)
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        torch.set_flush_denormal(flushed_before)


def stopwatch(device: torch.device) -> Callable[[], float]:
    """The clock to time steps by.

    Where one thread of a CPU does the work, it is that processor's own: while others have it the clock stands still, so
    that a busy machine hardly changes what a step takes. Elsewhere it is the one on the wall.
    """
    return time.process_time if device.type == "cpu" and torch.get_num_threads() == 1 else time.perf_counter
