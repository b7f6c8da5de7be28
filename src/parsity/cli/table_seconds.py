"""``parsity table --seconds``: what K* steps take on the machine they were measured on, sparse beside dense."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from parsity.analysis import SecondsToResult

MEASURED = (
    "a step: the median of what training steps took while the study ran, goal tests apart; seconds: of one trial alone"
)


def described_seconds(folder: Path, goals: Sequence[float]) -> list[dict[str, Any]]:
    """For each goal its cells in plain data, and for each sparsity where it overtakes the least sparse network."""
    from parsity.analysis import plain, seconds_of
    from parsity.cli.measured import measured_study

    found = []
    for one in seconds_of(measured_study(folder)):
        if one.goal in goals:
            cells = [{**plain(cell), "verdict": cell.verdict} for cell in one.cells]
            overtaking = [_where(one, sparsity) for sparsity in one.sparsities]
            found.append({"goal": one.goal, "against": one.against, "cells": cells, "overtaking": overtaking})
    return found


def print_seconds(name: str, found: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> None:
    """A block for each goal: a row per cell, then a line per sparsity; ``cells`` are those of the table."""
    from parsity.cli.tables import print_table, print_title, short

    if not found:
        sys.stdout.write(f"{name}: no step times\n")
        why = "no cell has reached a goal, or all were measured before Parsity kept what steps take"
        sys.stderr.write(f"{why}; more trials (`parsity run --set trials=...`) are timed\n")
        return
    for number, one in enumerate(found):
        if number:
            sys.stdout.write("\n")
        print_title(f"{name}: seconds to goal {short(one['goal'])}, K* x seconds of a training step")
        base = short(one["against"])
        over = f"over {base}" if one["against"] else "over dense"
        headings = ("batch size", "sparsity", "engine", "steps", "a step", "seconds", "", over, "")
        print_table(
            headings, [_row(cell) for cell in one["cells"]], numbers=(*headings[:2], *headings[3:6], headings[7])
        )
        sys.stdout.write("\n")
        for where in one["overtaking"]:
            sys.stdout.write(f"{where['words']}\n")
        there = {(cell["batch_size"], cell["sparsity"]) for cell in one["cells"]}
        left = sum((cell["batch_size"], cell["sparsity"]) not in there for cell in cells if cell["goal"] == one["goal"])
        if left:
            sys.stderr.write(f"{left} cells without a K* or without step times are left out\n")
    sys.stderr.write(f"{MEASURED}\n")


def _where(found: SecondsToResult, sparsity: float) -> dict[str, Any]:
    from parsity.analysis.seconds import Verdict

    sizes = {verdict: list(found.batch_sizes(sparsity, verdict)) for verdict in get_args(Verdict)}
    return {"sparsity": sparsity, **sizes, "words": found.words(sparsity)}


def _row(cell: Mapping[str, Any]) -> tuple[str, ...]:
    from parsity.cli.tables import short

    return (
        f"{cell['batch_size']:,}",
        short(cell["sparsity"]),
        cell["engine"],
        f"{cell['steps']['value']:,.0f}",
        spoken(cell["step_seconds"]["value"]),
        f"{cell['seconds']['value']:.3g}",
        _interval(cell["seconds"]),
        f"{cell['ratio']['value']:.2f}" if cell["ratio"] else "",
        _interval(cell["ratio"]) if cell["ratio"] else "",
    )


def _interval(estimate: Mapping[str, Any]) -> str:
    low, high = (".." if side is None else f"{side:.3g}" for side in (estimate["low"], estimate["high"]))
    return f"({low} to {high})"


def spoken(seconds: float) -> str:
    """The time of a step in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
