"""Goals: errors to reach, and how many mistakes each allows."""

from __future__ import annotations

from fractions import Fraction

from parsity.errors import UsageError


def most_mistakes(goal: float, count: int) -> int:
    """How many of ``count`` images may be wrong for the error to be at most ``goal``, exactly.

    The goal is taken as the decimal it is written as: 0.12 of 6,000 allows 720, though 0.12 * 6000 is 719.99...
    """
    if not 0 <= goal < 1:
        raise UsageError(f"goal {goal}: an error to reach is at least 0 and below 1")
    return int(Fraction(repr(float(goal))) * count)
