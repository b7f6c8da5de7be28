"""CSV and JSON: an infinite patience is ``inf``, nothing is empty or ``null``."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parsity.study.exporting.columns import (
    TABLE_COLUMNS,
    TRIAL_COLUMNS,
    Column,
    about,
    flat,
    log_rows,
    table_rows,
    trial_rows,
)
from parsity.study.store import Store


def write_csv(store: Store, folder: Path) -> None:
    """``table.csv``, ``trials.csv`` and, for what has no columns, ``about.json``."""
    with store.at_one_moment():
        heading, table, trials = about(store), table_rows(store), trial_rows(store)
    folder.mkdir()
    _write_rows(folder / "table.csv", table, TABLE_COLUMNS)
    _write_rows(folder / "trials.csv", trials, TRIAL_COLUMNS)
    (folder / "about.json").write_text(json.dumps(plain(heading), indent=2, allow_nan=False) + "\n")


def write_json(store: Store, path: Path) -> None:
    """One object of ``about``, ``table``, ``trials`` and ``logs``; each row is a line of its own."""
    with store.at_one_moment():
        heading, table, trials, logs = about(store), table_rows(store), trial_rows(store), log_rows(store)
    parts = {"about": json.dumps(plain(heading), allow_nan=False), "table": _lines(table), "trials": _lines(trials)}
    parts["logs"] = _lines(logs) if logs else "[]"
    path.write_text("{\n" + ",\n".join(f'"{name}": {text}' for name, text in parts.items()) + "\n}\n")


def plain(value: Any) -> Any:
    """The same data with what strict JSON lacks as text: ``inf``, ``nan``."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(plain(row), allow_nan=False) for row in rows) + "\n]"


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]], columns: Iterable[Column]) -> None:
    names, values = flat(rows, columns)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in values:
            writer.writerow(str(value).lower() if isinstance(value, bool) else value for value in row)
