"""Where the files of a data set lie: inside Parsity, in a folder of the user's, or in the cache."""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from parsity.data.catalogue import CATALOGUE
from parsity.data.files import uncompressed, verify
from parsity.errors import DamagedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from parsity.data.catalogue import Entry, File

logger = logging.getLogger(__name__)

FOLDER_VARIABLE = "PARSITY_DATA_DIR"


@dataclass(frozen=True, eq=False)
class Place:
    """Where some or all files of a data set were found."""

    kind: Literal["embedded", "folder", "cache"]
    at: str
    paths: Mapping[str, Traversable]
    remedy: str

    def missing(self, entry: Entry) -> list[File]:
        """The files that are not here."""
        return [file for file in entry.files if file.name not in self.paths]

    def read(self, file: File) -> bytearray:
        """Return the uncompressed bytes of ``file``, or raise one line that says what is wrong with them."""
        path = self.paths.get(file.name)
        if path is None:
            raise DamagedError(
                f"{self.at}: {file.name} is missing (expected {file.size:,} bytes, "
                f"sha256 {file.sha256[:12]}...); {self.remedy}"
            )
        try:
            contents = uncompressed(path, limit=file.size)
            verify(file, contents, at=str(path))
        except DamagedError as error:
            raise DamagedError(f"{error}; {self.remedy}") from error
        except OSError as error:
            raise DamagedError(f"{path}: cannot be read ({error.strerror}); {self.remedy}") from error
        return contents


def locate(entry: Entry, folder: Path | None = None) -> Place | None:
    """Find ``entry`` inside Parsity, in the user's folder, or in the cache; look at names only, not at contents.

    A folder named by the caller must hold it; one named by the environment may.
    """
    if entry.embedded:
        if folder is not None:
            raise UsageError(f"data set {entry.name}: it is carried inside Parsity and read from no folder")
        paths = {file.name: resources.files(__package__).joinpath(file.name) for file in entry.files}
        return Place("embedded", "inside Parsity", paths, "install Parsity again")
    if folder is not None:
        return _in_folder(entry, folder.expanduser(), demanded=True)
    named = os.environ.get(FOLDER_VARIABLE)
    found = _in_folder(entry, Path(named).expanduser(), demanded=False) if named else None
    return found or in_cache(entry)


def in_cache(entry: Entry) -> Place | None:
    """Find what the cache holds of ``entry``."""
    folder = cache_folder(entry)
    paths = {file.name: folder / file.name for file in entry.files if (folder / file.name).is_file()}
    return Place("cache", str(folder), paths, f"`parsity data fetch {entry.name}` replaces it") if paths else None


def cache_folder(entry: Entry) -> Path:
    """Return where the cache keeps ``entry``: under $XDG_CACHE_HOME, or ~/.cache."""
    # By the XDG specification a relative path there is invalid and to be ignored.
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "parsity" / "data" / entry.name


def _in_folder(entry: Entry, folder: Path, *, demanded: bool) -> Place | None:
    for inside in (*entry.folders, entry.name, "."):
        paths = {}
        for file in entry.files:
            plain, zipped = folder / inside / file.name, folder / inside / f"{file.name}.gz"
            path = plain if plain.is_file() else zipped
            if path.is_file():
                paths[file.name] = path
        # MNIST and Fashion-MNIST name their files alike: lying loose, they may be the other's.
        if paths and not (inside == "." and _is_another(entry, paths)):
            remedy = f"put a whole copy there, or use another folder (--data-dir, {FOLDER_VARIABLE})"
            return Place("folder", str((folder / inside).resolve()), paths, remedy)
    pickled = [path for path in (folder, folder / "cifar-10-batches-py") if (path / "batches.meta").is_file()]
    if entry.layout == "cifar" and pickled:
        line = (
            f"data set {entry.name}: {pickled[0]} holds Python pickles, which are never opened here; "
            "give the binary version (cifar-10-batches-bin/data_batch_1.bin and so on)"
        )
    elif not folder.is_dir():
        line = f"data set {entry.name}: {folder} is not a folder"
    else:
        line = (
            f"data set {entry.name}: {folder} holds none of its files; looked for {entry.files[0].name}"
            f"{'[.gz]' if entry.layout == 'idx' else ''} there and in {', '.join(entry.folders)}"
        )
    if demanded:
        raise UsageError(line)
    logger.info("%s (%s); going on to the cache", line, FOLDER_VARIABLE)
    return None


def _is_another(entry: Entry, paths: Mapping[str, Path]) -> bool:
    # The smallest file will do; a damaged one matches nobody and stays ours, to be complained about.
    smallest = min((file for file in entry.files if file.name in paths), key=lambda file: file.size)
    try:
        found = hashlib.sha256(uncompressed(paths[smallest.name], limit=smallest.size)).hexdigest()
    except DamagedError:
        return False
    others = (other for other in CATALOGUE.values() if other.name != entry.name)
    return any(file.sha256 == found for other in others for file in other.files)
