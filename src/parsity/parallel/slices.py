"""Who takes which images of a batch."""

from __future__ import annotations


def slice_of(count: int, rank: int, size: int) -> slice:
    """The part of ``count`` images that is ``rank``'s: neighbours, and sizes that differ by at most one.

    Where there are fewer images than ranks, the last ranks have none.
    """
    each, over = divmod(count, size)
    start = rank * each + min(rank, over)
    return slice(start, start + each + (rank < over))
