"""What ranks are given to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from parsity.parallel.group import Group

Found = TypeVar("Found", covariant=True)
Say = Callable[[Any], None]
"""Takes a line for whoever watches, or what else the job's starter understands; only rank 0 is passed on."""
Ask = Callable[[], Sequence[Any]]
"""Asked by the starter now and then for what to send to rank 0, where `Group.told` hands it on; it may raise."""


class Job(Protocol[Found]):
    """Done by all ranks of a group at the same time; it must be able to go to another process (pickle)."""

    @property
    def device(self) -> str:
        """Where it computes, which decides how ranks are connected."""

    def run(self, group: Group, say: Say) -> Found:
        """Do this rank's part; what rank 0 returns is the answer."""
