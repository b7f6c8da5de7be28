"""``parsity presets``: the studies that come with Parsity."""

from __future__ import annotations

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
    from parsity.cli.tables import print_json, print_table, room, short
    from parsity.study import PRESETS

    rows = [_described(preset) for preset in PRESETS]
    if arguments.json:
        print_json(rows)
        return 0
    # Where they do not fit, what a name says already is left out.
    named = ("data", "network", "optimiser") if room() >= WIDE else ()
    texts, numbers = ("name", "scale", *named, "schedule", "goals"), ("cells", "trials", "hours")
    shown = [{**row, "goals": ", ".join(map(short, row["goals"])), "hours": _hours(row["hours"])} for row in rows]
    lines = [[str(row[heading]) for heading in (*texts, *numbers)] for row in shown]
    print_table((*texts, *numbers), lines, numbers=numbers)
    return 0


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 1 else f"{hours:.2f}" if hours >= 0.005 else "< 0.01"


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
