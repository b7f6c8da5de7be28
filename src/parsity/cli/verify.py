"""``parsity verify``: recompute every digest of a study."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from parsity.cli.studies import configure_reading, open_study
from parsity.errors import DamagedError

if TYPE_CHECKING:
    import argparse

    from parsity.study import Study


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity verify``."""
    configure_reading(parser)
    parser.epilog = "The exit code is 4 where anything is damaged."


def run(arguments: argparse.Namespace) -> int:
    """Check, and name what is not as it was written."""
    from parsity.cli.tables import counted, print_json
    from parsity.study import STORE

    study = open_study(arguments.folder)
    file = study.folder / STORE
    damages = study.verify()
    checked = None if damages else _checked(study)
    if arguments.json:
        print_json({"file": str(file), "damages": [asdict(damage) for damage in damages], "checked": checked})
    elif checked:
        _print(checked)
    else:
        for damage in damages:
            sys.stdout.write(f"{damage}\n")
    if damages:
        found = counted(len(damages), "damage")
        sys.stderr.write(f"parsity: {file}: {found}; restore it from a copy, or move it away and run again\n")
        return DamagedError.exit_code
    return 0


def _checked(study: Study) -> dict[str, Any]:
    """What there was to check."""
    with study.store() as store, store.at_one_moment():
        seen = store.overview()
        return {
            "specs": len(store.specs),
            "runs": len(seen.runs),
            "cells": sum(spent.results > 0 for spent in seen.spent.values()),
            "results": sum(spent.results for spent in seen.spent.values()),
            "set_asides": len(seen.set_asides),
            "digest": seen.digest,
        }


def _print(checked: dict[str, Any]) -> None:
    from parsity.cli.tables import counted, print_table, print_title

    print_title("all is as it was written")
    things = {"specs": "spec", "runs": "run", "cells": "cell", "results": "result", "set_asides": "set-aside trial"}
    found = ", ".join(counted(checked[key], thing) for key, thing in things.items() if checked[key])
    facts = ("checked", f"{found}, and the file's pages, tables and references"), ("digest", checked["digest"])
    print_table(("", ""), facts)
