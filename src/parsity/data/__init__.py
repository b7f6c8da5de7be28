"""Data sets: where they come from, whether their bytes are right, and the order in which training sees them.

The catalogue and the files need no torch; what does is imported when it is first asked for, so that
``parsity data list`` answers at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsity.data.dataset import Dataset as Dataset
    from parsity.data.order import Batches as Batches
    from parsity.data.order import Split as Split
    from parsity.data.order import split as split

_HOMES = {
    "Batches": "order",
    "Dataset": "dataset",
    "Split": "order",
    "split": "order",
}

__all__ = ["Batches", "Dataset", "Split", "split"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
