"""The errors Parsity raises on purpose.

Each carries one line for a person - what is wrong, where, what is allowed - and the exit code the command line
ends with. Anything else that escapes is a bug.
"""

from __future__ import annotations

from typing import ClassVar


class ParsityError(Exception):
    """Something went wrong that Parsity expected could: one line, no traceback."""

    exit_code: ClassVar[int] = 1


class UsageError(ParsityError):
    """What the caller asked for is not possible: a bad name, value or combination."""

    exit_code = 2


class DamagedError(ParsityError):
    """Stored bytes are not what was written."""

    exit_code = 4


class BusyError(ParsityError):
    """Somebody else holds what is needed; trying again later can succeed."""

    exit_code = 75
