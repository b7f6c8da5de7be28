"""The driver's disk, for workers that have another: checkpoints and scores come from there and go there."""

from __future__ import annotations

from pathlib import Path

from parsity.errors import UsageError
from parsity.whole_file import write_whole


class Desk:
    """An actor on the driver's machine. It keeps nothing in memory, so it may die and be started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """The file of that name below the study's folder; None where there is none."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, contents: bytes) -> None:
        """Keep it, whole or not at all."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, contents)

    def _path(self, name: str) -> Path:
        folder, _, file = name.partition("/")
        if not folder or not file or "/" in file or ".." in (folder, file):
            raise UsageError(f"{name}: not the name of a file in a folder")
        return self._folder / folder / file
