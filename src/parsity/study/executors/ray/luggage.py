"""The user's own modules, packed for machines that have Parsity but not them."""

from __future__ import annotations

import importlib.util
import io
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from parsity.errors import UsageError

LARGEST = 64 * 2**20  # bytes; code that is larger holds something that is not code


def packed(names: Iterable[str]) -> bytes:
    """A zip archive of the modules that ``names`` (import paths, or names of Parsity's own) lead to, or b"" for none.

    Packed is what lies beside them too: a module may import its neighbours. What is installed is not packed, since it
    is expected to be installed everywhere.
    """
    roots: dict[Path, set[Path]] = {}
    for name in names:
        if ":" in name and (place := _place(name.partition(".")[0].partition(":")[0])) is not None:
            roots.setdefault(place.parent, set()).add(place)
    files = {file: file.relative_to(root) for root, named in roots.items() for file in _files(root, named)}
    size = sum(file.stat().st_size for file in files)
    if size > LARGEST:
        folders = ", ".join(map(str, sorted(roots)))
        raise UsageError(
            f"{folders}: {size / 2**20:.0f} MB of code to send to workers; at most {LARGEST >> 20} are sent"
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, inside in sorted(files.items()):
            archive.write(file, inside)
    return buffer.getvalue() if files else b""


def unpack(luggage: bytes, folder: Path) -> None:
    """Make what `packed` packed importable in this process."""
    if luggage:
        with zipfile.ZipFile(io.BytesIO(luggage)) as archive:
            archive.extractall(folder)
        # First: a stale copy that happens to lie on this machine must not win over what was sent.
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _place(module: str) -> Path | None:
    """The file of a module, or the folder of a package; None where it is installed or cannot be found here."""
    here = str(Path.cwd())
    path, sys.path = sys.path, [*sys.path, here]
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    finally:
        sys.path = path
    if spec is None:
        return None
    if spec.submodule_search_locations:
        place = Path(next(iter(spec.submodule_search_locations)))
    elif spec.origin and spec.has_location:
        place = Path(spec.origin)
    else:
        return None
    installed = {Path(folder) for folder in sysconfig.get_paths().values()}
    return None if installed & set(place.parents) - {Path(sysconfig.get_paths()["data"])} else place.absolute()


def _files(root: Path, named: set[Path]) -> Iterator[Path]:
    yield from root.glob("*.py")
    for folder in root.iterdir():
        if folder in named:
            yield from (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        elif (folder / "__init__.py").is_file():
            yield from folder.rglob("*.py")
