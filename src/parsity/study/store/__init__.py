"""Where a study's results are kept; `Store` is the contract."""

from parsity.storage import UnwritableError, gather_provenance
from parsity.study.store.adding import AlreadyStoredError
from parsity.study.store.comparing import ComparedRow, Comparison, compare
from parsity.study.store.grid import Grid
from parsity.study.store.overview import Overview, Spent
from parsity.study.store.reading import SetAside
from parsity.study.store.rows import StoredTrial
from parsity.study.store.store import Store
from parsity.study.store.tables import CellState, TableRow
from parsity.study.store.verifying import Damage, verify

__all__ = [
    "AlreadyStoredError",
    "CellState",
    "ComparedRow",
    "Comparison",
    "Damage",
    "Grid",
    "Overview",
    "SetAside",
    "Spent",
    "Store",
    "StoredTrial",
    "TableRow",
    "UnwritableError",
    "compare",
    "gather_provenance",
    "verify",
]
