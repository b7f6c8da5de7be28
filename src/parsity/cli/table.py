"""``parsity table``: steps-to-result by batch size and sparsity, or cell by cell with the winners."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, get_args

from parsity.cli.studies import chosen, configure_reading, open_study, still_due
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from parsity.study import Overview

    Cell = dict[str, Any]

DUE, ASIDE, NONE = "?", "!", "-"
LEGEND = {
    DUE: "trials of this cell are still due, and may need fewer steps",
    ASIDE: "trials of this cell were set aside, and might have needed fewer steps",
    NONE: "no trial has reached the goal",
}
ORDERS: dict[str, Callable[[Cell], tuple[float, ...]]] = {
    "batch-size": lambda cell: (cell["batch_size"], cell["sparsity"]),
    "sparsity": lambda cell: (cell["sparsity"], cell["batch_size"]),
    "steps": lambda cell: (cell["steps_to_result"] or math.inf, cell["batch_size"], cell["sparsity"]),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity table``."""
    configure_reading(parser)
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all)")
    views = parser.add_mutually_exclusive_group()
    views.add_argument("--ratio", action="store_true", help="beside it, how many times a dense network's steps")
    views.add_argument(
        "--seconds",
        action="store_true",
        help="a row per cell: the seconds its steps take here, and where sparse overtakes dense",
    )
    views.add_argument("--winners", action="store_true", help="a row per cell: who won, with what, and how all ended")
    parser.add_argument("--sort", choices=list(ORDERS), help="the order of --winners (default: batch-size)")


def run(arguments: argparse.Namespace) -> int:
    """Print one block per goal."""
    from parsity.cli.tables import print_json, print_title, short

    if arguments.sort and not (arguments.winners or arguments.json):
        raise UsageError("--sort: it orders the rows of --winners; give both")
    study = open_study(arguments.folder)
    with study.store() as store:
        seen = store.overview()
    goals = chosen(seen.spec, "goals", "--goal", arguments.goal)
    cells = [cell for cell in _described(seen) if cell["goal"] in goals]
    if arguments.ratio and not any(cell["sparsity"] == 0 for cell in cells):
        raise UsageError("--ratio: this study has no dense network, of sparsity 0, to compare with")
    cells.sort(key=ORDERS[arguments.sort or "batch-size"])
    name = seen.spec.get("name", "study")
    if arguments.seconds:
        from parsity.cli.table_seconds import described_seconds, print_seconds

        found = described_seconds(arguments.folder, goals)
        if arguments.json:
            about = {"name": name, "identity": seen.identity, "digest": seen.digest, "goals": goals}
            print_json({**about, "seconds": found})
        else:
            print_seconds(name, found, cells)
        return 0
    if arguments.json:
        print_json({"name": name, "identity": seen.identity, "digest": seen.digest, "goals": goals, "cells": cells})
        return 0
    marks = set()
    for number, goal in enumerate(goals):
        if number:
            sys.stdout.write("\n")
        of_goal = [cell for cell in cells if cell["goal"] == goal]
        by = "" if arguments.winners else " by batch size and sparsity"
        print_title(f"{name}: steps to goal {short(goal)}{by}")
        if arguments.winners:
            _print_winners(of_goal)
        else:
            _print_grid(of_goal, ratio=arguments.ratio)
        marks |= {mark for cell in of_goal for mark in _marks(cell)}
    for mark, meaning in LEGEND.items():
        if mark in marks:
            sys.stderr.write(f"{mark} {meaning}\n")
    return 0


def _described(seen: Overview) -> Iterator[Cell]:
    from parsity.study.exporting import table_row
    from parsity.study.store import Grid

    name, due = Grid.of(seen.spec).name, still_due(seen)
    states = {(state.batch_size, state.sparsity): state for state in seen.cells}
    dense = {(row.batch_size, row.goal): row.steps_to_result for row in seen.table if row.sparsity == 0}
    for row in seen.table:
        state, base = states[row.batch_size, row.sparsity], dense.get((row.batch_size, row.goal))
        yield {
            **table_row(name, row),
            "ratio": row.steps_to_result / base if row.steps_to_result and base else None,
            "planned": state.planned,
            "due": len(due[row.batch_size, row.sparsity]),
            "set_aside": len(state.set_aside),
        }


def _marks(cell: Cell) -> Iterator[str]:
    if cell["steps_to_result"] is None and cell["trials"]:
        yield NONE
    if cell["due"]:
        yield DUE
    elif cell["set_aside"]:
        yield ASIDE


def _steps(cell: Cell) -> str:
    best = cell["steps_to_result"]
    return (f"{best:,}" if best else "") + "".join(_marks(cell))


def _ratio(cell: Cell, dense: Cell) -> str:
    if cell["ratio"] is None:
        return ""
    return f"{cell['ratio']:.2f}" + "".join(mark for mark in (DUE, ASIDE) if mark in {*_marks(cell), *_marks(dense)})


def _print_grid(cells: Sequence[Cell], *, ratio: bool) -> None:
    from parsity.cli.tables import hanging, print_table, short

    by_key = {(cell["batch_size"], cell["sparsity"]): cell for cell in cells}
    batch_sizes, sparsities = (sorted(set(column)) for column in zip(*by_key, strict=True))
    # A heading stands above the digits too, not above the marks.
    columns = [hanging([short(s), *(_steps(by_key[size, s]) for size in batch_sizes)]) for s in sparsities]
    for sparsity in sparsities if ratio else ():
        if sparsity > 0:
            pairs = [(by_key[size, sparsity], by_key[size, 0.0]) for size in batch_sizes]
            columns.append(hanging([f"{short(sparsity)} / 0", *(_ratio(*pair) for pair in pairs)]))
    headings, *rows = zip(["batch size", *(f"{size:,}" for size in batch_sizes)], *columns, strict=True)
    print_table(headings, rows, numbers=headings)


def _print_winners(cells: Sequence[Cell]) -> None:
    from parsity.cli.tables import hanging, metaparameter_columns, print_table, short

    searched = metaparameter_columns([cell["metaparameters"] for cell in cells])
    columns = {
        "batch size": [f"{cell['batch_size']:,}" for cell in cells],
        "sparsity": [short(cell["sparsity"]) for cell in cells],
        "steps": hanging([_steps(cell) for cell in cells]),
        "within": [f"({c['last_miss']:,}, {c['steps_to_result']:,}]" if c["winner"] else "" for c in cells],
        "trial": [str(cell["winner"] or "") for cell in cells],
        **searched,
        "test error": ["" if cell["test_error"] is None else f"{cell['test_error']:.4f}" for cell in cells],
        "outcomes": [_outcomes(cell) for cell in cells],
    }
    print_table(
        list(columns),
        zip(*columns.values(), strict=True),
        numbers=[heading for heading in columns if heading != "outcomes"],
        dispensable=("within", "outcomes"),
    )


def _outcomes(cell: Cell) -> str:
    from parsity.results import Status

    return ", ".join(f"{cell[status]:,} {status}" for status in get_args(Status) if cell[status])
