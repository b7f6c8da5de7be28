"""`export`: a study's results, written as other programs like to read them, there whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from parsity.errors import UsageError
from parsity.study.exporting.batch_science import write_batch_science
from parsity.study.exporting.optuna_studies import write_optuna
from parsity.study.exporting.parquet import write_parquet
from parsity.study.exporting.text import write_csv, write_json
from parsity.study.store import Store, UnwritableError

FORMATS: dict[str, Callable[[Store, Path], None]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
    "optuna": write_optuna,
    "batch-science": write_batch_science,
}


def export(store: Store, to: str, path: Path) -> None:
    """Write the results to ``path``, which must not exist, in one of `FORMATS`.

    csv: a folder of ``table.csv``, ``trials.csv`` and ``about.json``. json: one file of ``about``, ``table`` and
    ``trials``. parquet: a folder of ``table.parquet`` and ``trials.parquet``, each with ``about`` in its metadata.
    optuna: a journal file that Optuna opens as a storage. batch-science: the folders of the data that Shallue et al.
    (2019) published.
    """
    if to not in FORMATS:
        raise UsageError(f"export to {to!r}: allowed are {', '.join(FORMATS)}")
    if path.exists():
        raise UsageError(f"{path}: there is something already")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            part = Path(folder, "export")
            FORMATS[to](store, part)
            part.rename(path)
    except OSError as error:
        raise UnwritableError(f"{path}: cannot be written: {error.strerror or error}") from error
