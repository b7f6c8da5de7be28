"""Studies: what is asked for, where its results are kept, and the driver that gets them.

Reading a study needs no torch; what does is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsity.study.store import (
        AlreadyStoredError,
        CellState,
        Damage,
        SetAside,
        Store,
        StoredTrial,
        TableRow,
        UnwritableError,
        gather_provenance,
        verify,
    )

_HOMES = {
    "AlreadyStoredError": "store",
    "CellState": "store",
    "Damage": "store",
    "SetAside": "store",
    "Store": "store",
    "StoredTrial": "store",
    "TableRow": "store",
    "UnwritableError": "store",
    "gather_provenance": "store",
    "verify": "store",
}

__all__ = [
    "AlreadyStoredError",
    "CellState",
    "Damage",
    "SetAside",
    "Store",
    "StoredTrial",
    "TableRow",
    "UnwritableError",
    "gather_provenance",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
