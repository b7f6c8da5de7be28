"""What the official addresses and the registry packages have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from parsity.data.files import verify
from parsity.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from parsity.data.catalogue import File


class OutOfReachError(Exception):
    """A source cannot give what is wanted. The line says why; the next source is tried."""


class Progress(Protocol):
    """Told how far a transfer has come: what it is, bytes done, and bytes in all where that is known."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Show it."""


def unseen(what: str, done: int, total: int | None) -> None:
    """Show no progress."""


@dataclass(frozen=True, eq=False)
class Order:
    """The files a source is asked for, and where they go.

    ``work`` is a folder for whatever the source needs on the way; it outlives a kill, so that what is found
    there may be gone on with.
    """

    wanted: dict[str, File]
    target: Path
    work: Path
    progress: Progress = unseen

    def deliver(self, name: str, contents: bytes | bytearray, *, origin: str) -> None:
        """Put one whole file in its place, once its digest is right."""
        verify(self.wanted[name], contents, at=f"{name} from {origin}")
        write_whole(self.target / name, contents, work=self.work)
        del self.wanted[name]
