"""Names that lead to code: Parsity's own, an import path, or an entry point.

A data set, network, optimiser, schedule or pruning criterion of the user's own enters by
``package.module:function``, or by a name that an installed package registers in the entry-point group
``parsity.<kind>``. Nothing here is executed but the import itself.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def resolve(kind: str, name: str, built_in: Mapping[str, str]) -> object:
    """Return what ``name`` stands for among the ``kind``: "data", "networks", "criteria" and so on.

    ``built_in`` maps Parsity's own names to ``"module:attribute"``; they win over entry points. A name with
    a colon is an import path, and modules in the current folder can be imported too.
    """
    if name in built_in:
        return _imported(kind, name, built_in[name])
    if ":" in name:
        return _imported(kind, name, name)
    entry_points = {point.name: point for point in importlib.metadata.entry_points(group=f"parsity.{kind}")}
    if name in entry_points:
        return _imported(kind, name, entry_points[name].value)
    raise UsageError(unknown(kind, name, [*built_in, *entry_points]))


def unknown(kind: str, name: str, known: Iterable[str], *, paths: bool = True) -> str:
    """Say in one line that ``name`` is none of ``known``, what is allowed, and what it may have meant.

    ``paths`` says whether an import path would have been allowed too.
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    allowed = ", ".join([*names, "or an import path package.module:function"] if paths else names)
    return f"{kind}: {name!r} is not known{hint}; allowed are {allowed}"


def _imported(kind: str, name: str, path: str) -> object:
    module_name, _, attribute = path.partition(":")
    attribute = attribute.split(" [")[0].strip()  # an entry point's extras
    if not all(part.isidentifier() for part in (*module_name.split("."), *attribute.split("."))):
        raise UsageError(f"{kind}: {name!r} is not an import path; one looks like package.module:function")
    _make_current_folder_importable()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{kind}: {name!r} cannot be imported: {error}; looked among the installed packages and here"
        ) from error
    except ImportError as error:
        raise UsageError(f"{kind}: {name!r} cannot be imported: {error}") from error
    try:
        found: object = attrgetter(attribute)(module)
    except AttributeError:
        public = [word for word in vars(module) if not word.startswith("_")]
        close = difflib.get_close_matches(attribute, public, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"{kind}: module {module_name} has no {attribute!r}{hint}") from None
    return found


def _make_current_folder_importable() -> None:
    # Installed console scripts, unlike `python -m`, leave the current folder off the path. It goes last, so
    # that a stray file there never shadows an installed package, and it stays: what the user's module imports
    # later, and worker processes that receive its functions by name, need it too.
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
