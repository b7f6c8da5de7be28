"""Data sets: where they come from, whether their bytes are right, and the order in which training sees them.

The catalogue and the files need no torch; what does is imported when it is first asked for, so that
``parsity data list`` answers at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parsity.data.catalogue import CATALOGUE, Entry, File

if TYPE_CHECKING:
    from parsity.data.checking import Finding, check
    from parsity.data.dataset import Dataset
    from parsity.data.fetching import fetch
    from parsity.data.loading import load
    from parsity.data.order import Batches, Split, split
    from parsity.data.places import Place, locate
    from parsity.data.sheet import contact_sheet

_HOMES = {
    "Batches": "order",
    "Dataset": "dataset",
    "Finding": "checking",
    "Place": "places",
    "Split": "order",
    "check": "checking",
    "contact_sheet": "sheet",
    "fetch": "fetching",
    "load": "loading",
    "locate": "places",
    "split": "order",
}

__all__ = [
    "CATALOGUE",
    "Batches",
    "Dataset",
    "Entry",
    "File",
    "Finding",
    "Place",
    "Split",
    "check",
    "contact_sheet",
    "fetch",
    "load",
    "locate",
    "split",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
