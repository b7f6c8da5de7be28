"""What the values of options may be: readers for argparse that refuse the rest in one line."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from typing import TypeVar

Found = TypeVar("Found")


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number from ``least`` up, or up to ``most``."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            allowed = f"from {least} up" if most is None else f"from {least} to {most:,}"
            raise ArgumentTypeError(f"{text!r}: a whole number {allowed}")
        return int(text)

    return read


number = whole(1)
"""How many of anything, or which, counted from 1."""
worker_count = whole(1, 1024)
"""How many processes."""


def seconds(text: str) -> float:
    """More than nothing."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ArgumentTypeError(f"{text!r}: a number of seconds above 0")
    return found


def several(one: Callable[[str], Found]) -> Callable[[str], Sequence[Found]]:
    """Reads ``1,2,4``, each once."""

    def read(text: str) -> Sequence[Found]:
        return tuple(dict.fromkeys(one(word.strip()) for word in text.split(",")))

    return read


def fraction(text: str) -> float:
    """A sparsity."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1:
        raise ArgumentTypeError(f"{text!r}: a sparsity is at least 0 and below 1")
    return found
