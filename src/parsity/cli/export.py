"""``parsity export``: write a study's results in a form that other programs read."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.cli.studies import configure_reading, open_study

if TYPE_CHECKING:
    import argparse

# What each form is, and what its file or folder is called after the study's folder.
FORMS = {
    "csv": ("a folder of table.csv, trials.csv and about.json", "-csv"),
    "json": ("one file with the table, the trials and where they come from", ".json"),
    "parquet": ("a folder of table.parquet and trials.parquet (needs parsity[parquet])", "-parquet"),
    "optuna": ("a journal that Optuna opens as a storage (needs parsity[optuna])", "-optuna.log"),
    "batch-science": ("the folders of the data that Shallue et al. (2019) published", "-batch-science"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity export``."""
    configure_reading(parser)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = "forms:\n" + "\n".join(f"  {name:15}{what}" for name, (what, _) in FORMS.items())
    parser.add_argument("--to", choices=list(FORMS), required=True, help="the form")
    parser.add_argument(
        "--output", type=Path, metavar="PATH", help="what to write (default: named like the study and the form, here)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write it, and say where."""
    from parsity.cli.tables import print_json
    from parsity.study.exporting import export

    study = open_study(arguments.folder)
    path = arguments.output or Path(study.folder.absolute().name + FORMS[arguments.to][1])
    with study.store() as store, store.at_one_moment():
        export(store, arguments.to, path)
        digest = store.digest()
    if arguments.json:
        print_json({"folder": str(study.folder), "to": arguments.to, "path": str(path), "digest": digest})
    else:
        sys.stdout.write(f"{path}\n")
    return 0
