"""What is raised when a rank is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from parsity.errors import ParsityError

TIMEOUT = 300.0
"""Seconds of silence after which a rank counts as lost; others may wait this long while it prunes."""


class LostRankError(ParsityError):
    """A rank died, fell silent or could not be reached, and the others ended with it; trying again can succeed."""

    exit_code: ClassVar[int] = 75

    def __init__(self, message: str, said: Mapping[int, str] | None = None) -> None:
        """``said`` is what the ranks that were left had to say, each by its number."""
        super().__init__(message)
        self.said: Mapping[int, str] = dict(said or {})


class FailedRankError(ParsityError):
    """A rank met an error that nobody expected: its message is the traceback, and ends with the error."""
