"""Parquet, through pyarrow: typed columns, and what the study is about in the files' metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parsity.study.exporting.columns import TABLE_COLUMNS, TRIAL_COLUMNS, Column, about, flat, table_rows, trial_rows
from parsity.study.exporting.text import plain
from parsity.study.extras import needed
from parsity.study.store import Store

_TYPES = {int: "int64", float: "float64", str: "string", bool: "bool_"}


def write_parquet(store: Store, folder: Path) -> None:
    """``table.parquet`` and ``trials.parquet``."""
    arrow = needed("pyarrow", extra="parquet")
    files = needed("pyarrow.parquet", extra="parquet")
    with store.at_one_moment():
        heading, table, trials = about(store), table_rows(store), trial_rows(store)
    metadata = {"parsity": json.dumps(plain(heading), allow_nan=False)}
    folder.mkdir()
    for name, rows, columns in (("table", table, TABLE_COLUMNS), ("trials", trials, TRIAL_COLUMNS)):
        files.write_table(_arrow_table(arrow, rows, columns, metadata), folder / f"{name}.parquet")


def _arrow_table(
    arrow: Any, rows: Sequence[Mapping[str, Any]], columns: Iterable[Column], metadata: Mapping[str, str]
) -> Any:
    kinds = {column.name: column.kind for column in columns}
    names, values = flat(rows, columns)
    arrays = []
    for index, name in enumerate(names):
        column = [row[index] for row in values]
        kind = kinds.get(name) or _kind(column)
        # A metaparameter may be a number here and a word there.
        column = [None if value is None else kind(value) for value in column]
        arrays.append(arrow.array(column, type=getattr(arrow, _TYPES[kind])()))
    return arrow.table(arrays, names=names).replace_schema_metadata(metadata)


def _kind(values: Iterable[Any]) -> type:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int}:
        return int
    return float if kinds <= {int, float} else str
