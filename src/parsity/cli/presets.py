"""``parsity presets``: the studies that come with Parsity."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from parsity.study import Preset

WIDE = 120  # characters; the whole table needs so many


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity presets``."""
    parser.add_argument("--json", action="store_true", help="as JSON, with the grids")
    parser.epilog = "`parsity new NAME --scale SCALE > study.toml` writes one down. Hours are for two cores, roughly."


def run(arguments: argparse.Namespace) -> int:
    """List them."""
    from parsity.study import PRESETS

    rows = [_described(preset) for preset in PRESETS]
    if arguments.json:
        json.dump(rows, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 240, highlight=False)
    # Where they do not fit, what a name says already is left out.
    named = ("data", "network", "optimiser") if console.width >= WIDE else ()
    texts, numbers = ("name", "scale", *named, "schedule", "goals"), ("cells", "trials", "hours")
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for heading in (*texts, *numbers):
        table.add_column(heading, justify="right" if heading in numbers else "left", no_wrap=True)
    for row in rows:
        goals, hours = ", ".join(f"{goal:g}" for goal in row["goals"]), row["hours"]
        shown = {**row, "goals": goals, "hours": f"{hours:,.0f}" if hours >= 1 else f"{hours:.2f}"}
        table.add_row(*(str(shown[heading]) for heading in (*texts, *numbers)))
    console.print(table)
    return 0


def _described(preset: Preset) -> dict[str, Any]:
    from parsity.study import estimated_hours

    spec = preset.spec
    return {
        "name": preset.name,
        "scale": preset.scale,
        **spec.ingredients.model_dump(),
        "goals": list(spec.goals),
        "cells": len(spec.cells()),
        "trials": spec.trials,
        "hours": estimated_hours(spec),
        "batch_sizes": list(spec.batch_sizes),
        "sparsities": list(spec.sparsities),
        "patience": spec.document()["patience"],
        "identity": spec.identity,
    }
