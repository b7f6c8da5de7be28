"""How this process computes while trials run; afterwards it computes as it did before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
