"""``parsity import``: make a study of what was exported, or of results in the layout of Shallue et al. (2019)."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

EPILOG = """What `parsity export --to json` or `--to batch-science` wrote comes back with the same digest, and
`parsity run` goes on with it. Others' data in the batch-science layout needs --goal."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity import``."""
    parser.epilog = EPILOG
    parser.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="a file that `parsity export --to json` wrote, or a folder of study.json, metadata.json, measurements.csv",
    )
    parser.add_argument("--to", type=Path, required=True, metavar="NEWFOLDER", help="the folder of the study to make")
    parser.add_argument(
        "--goal", type=float, action="append", metavar="ERROR", help="an error to be reached; may be repeated"
    )
    parser.add_argument("--measure", metavar="COLUMN", help="of measurements.csv (default: val/classification_error)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read all of it, and store it."""
    from parsity.cli.tables import counted, print_json
    from parsity.study import STORE
    from parsity.study.exporting import import_results

    folder: Path = arguments.to
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--to {folder}: it cannot be made ({error.strerror})") from error
    measure = {"measure": arguments.measure} if arguments.measure else {}
    try:
        with import_results(arguments.source, folder / STORE, goals=arguments.goal, **measure) as store:
            seen = store.overview()
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise
    cells = [spent.results for spent in seen.spent.values() if spent.results]
    if arguments.json:
        print_json({"folder": str(folder), "cells": len(cells), "trials": sum(cells), "digest": seen.digest})
    else:
        sys.stdout.write(f"{folder}\n")
        counts = f"{counted(len(cells), 'cell')}, {counted(sum(cells), 'trial')}"
        sys.stderr.write(f"{counts}; see: parsity table {folder}\n")
    return 0
