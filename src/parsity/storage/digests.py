"""Digests: of a row, of a cell's rows, of a study.

A row's digest is sha256 over the table's name and the row's columns as text, one per line: whole numbers and floats as
Python writes them (the shortest text that reads back the same), nothing as ``None``. Structured columns hold canonical
JSON, which has no line breaks. A trial's row is signed with its batch size and sparsity, not with its cell's key alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def canonical(value: Any) -> str:
    """Plain data as JSON with sorted keys, no spaces, ASCII only."""
    return _encode(value)


def row_digest(table: str, *columns: object) -> str:
    """What stands in a row's last column."""
    return hashlib.sha256("\n".join([table, *map(str, columns)]).encode()).hexdigest()


def joint_digest(digests: Iterable[str]) -> str:
    """One digest over others, in their order: a missing, doubled or exchanged row changes it."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
