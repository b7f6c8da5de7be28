"""A study's results in forms that other programs read; `export` chooses one by name."""

from parsity.study.exporting.columns import (
    TABLE_COLUMNS,
    TRIAL_COLUMNS,
    Column,
    about,
    flat,
    table_row,
    table_rows,
    trial_rows,
)
from parsity.study.exporting.formats import FORMATS, export
from parsity.study.exporting.importing import import_results

__all__ = [
    "FORMATS",
    "TABLE_COLUMNS",
    "TRIAL_COLUMNS",
    "Column",
    "about",
    "export",
    "flat",
    "import_results",
    "table_row",
    "table_rows",
    "trial_rows",
]
