"""What ranks are given to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from parsity.parallel.group import Group

Found = TypeVar("Found", covariant=True)
Say = Callable[[str], None]
"""Takes a line for whoever watches; what other ranks than 0 say is not passed on."""


class Job(Protocol[Found]):
    """Done by all ranks of a group at the same time; it must be able to go to another process (pickle)."""

    @property
    def device(self) -> str:
        """Where it computes, which decides how ranks are connected."""

    def run(self, group: Group, say: Say) -> Found:
        """Do this rank's part; what rank 0 returns is the answer."""
