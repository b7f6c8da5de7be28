"""``parsity trials``: every trial of a study, one line for each goal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, get_args

from parsity.cli.studies import chosen, configure_reading, open_study
from parsity.results import Status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity trials``."""
    configure_reading(parser)
    parser.add_argument("--batch-size", type=int, metavar="B", help="of this batch size alone")
    parser.add_argument("--sparsity", type=float, metavar="S", help="of this sparsity alone")
    parser.add_argument("--goal", type=float, metavar="ERROR", help="for this goal alone")
    parser.add_argument("--status", choices=get_args(Status), help="those that ended so")


def run(arguments: argparse.Namespace) -> int:
    """List them."""
    from parsity.cli.tables import print_json
    from parsity.study.exporting import trial_rows

    study = open_study(arguments.folder)
    with study.store() as store:
        spec, rows = store.spec, trial_rows(store)
    wanted = {
        "batch_size": chosen(spec, "batch_sizes", "--batch-size", arguments.batch_size),
        "sparsity": chosen(spec, "sparsities", "--sparsity", arguments.sparsity),
        "goal": chosen(spec, "goals", "--goal", arguments.goal),
        "status": [arguments.status] if arguments.status else get_args(Status),
    }
    rows = [row for row in rows if all(row[key] in values for key, values in wanted.items())]
    if arguments.json:
        print_json(rows)
        return 0
    if rows:
        _print(rows)
    else:
        sys.stderr.write("no trial has ended so\n" if arguments.status else "no trial is measured yet\n")
    if any(row["winner"] for row in rows):
        sys.stderr.write("* the fewest steps of its cell\n")
    return 0


def _print(rows: Sequence[dict[str, Any]]) -> None:
    from parsity.cli.tables import hanging, metaparameter_columns, print_table, short

    steps = [f"{row['step']:,}" + ("*" if row["winner"] else "") for row in rows]
    columns = {
        "batch size": [f"{row['batch_size']:,}" for row in rows],
        "sparsity": [short(row["sparsity"]) for row in rows],
        "trial": [str(row["trial"]) for row in rows],
        "goal": [short(row["goal"]) for row in rows],
        "status": [row["status"] for row in rows],
        "step": hanging(["step", *steps])[1:],
        "last miss": [f"{row['last_miss']:,}" if row["last_miss"] is not None else "" for row in rows],
        **metaparameter_columns([row["metaparameters"] for row in rows]),
        "seconds": [f"{row['seconds']:,.2f}" for row in rows],
    }
    print_table(
        list(columns),
        zip(*columns.values(), strict=True),
        numbers=[heading for heading in columns if heading != "status"],
        dispensable=("seconds", "last miss"),
    )
