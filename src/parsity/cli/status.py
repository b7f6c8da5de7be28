"""``parsity status``: how far a study is, who is at work on it, what it has taken and what is left."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parsity.cli.studies import configure_reading, open_study, still_due

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from parsity.study import Overview, Study


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity status``."""
    configure_reading(parser)
    parser.epilog = "The exit code is 3 where trials are set aside."


def run(arguments: argparse.Namespace) -> int:
    """Look, and say."""
    from parsity.cli.status_text import print_status
    from parsity.cli.tables import print_json

    study = open_study(arguments.folder)
    with study.store() as store:
        seen = store.overview()
    found = described(study, seen)
    if arguments.json:
        print_json(found)
    else:
        print_status(found)
    if not found["finished"] and found["driver"] is None:
        sys.stderr.write(f"to go on: parsity run {study.folder}\n")
    return 3 if seen.set_asides else 0


def described(study: Study, seen: Overview) -> dict[str, Any]:
    """How far it is, as plain data."""
    spec = seen.spec
    waiting = still_due(seen)
    due = sum(map(len, waiting.values()))
    return {
        "folder": str(study.folder),
        "name": spec.get("name", "study"),
        "workload": _workload(spec),
        "identity": seen.identity,
        "digest": seen.digest,
        "goals": sorted(spec["goals"]),
        "batch_sizes": sorted(spec["batch_sizes"]),
        "sparsities": sorted(spec["sparsities"]),
        "patience": float(spec["patience"]),
        "finished": due == 0,
        "cells": {
            "planned": len(seen.cells),
            "finished": sum(not numbers for numbers in waiting.values()),
            "begun": sum(bool(numbers) and seen.spent[cell].results > 0 for cell, numbers in waiting.items()),
        },
        "trials": {
            "planned": sum(cell.planned for cell in seen.cells),
            "measured": sum(cell.measured for cell in seen.cells),
            "due": due,
            "set_aside": sum(len(set(cell.due) & set(cell.set_aside)) for cell in seen.cells),
        },
        "set_aside": [note._asdict() for note in seen.set_asides],
        "driver": study.driver,
        "runs": [{"run": number, **run} for number, run in seen.runs.items()],
        "image_passes": sum(spent.image_passes for spent in seen.spent.values()),
        "seconds": sum(spent.seconds for spent in seen.spent.values()),
        "expected": _expected(seen, waiting) if due else None,
    }


def _workload(spec: Mapping[str, Any]) -> dict[str, str]:
    """Its parts; of an imported study, as its source calls them."""
    from parsity.training import WORKLOADS

    if "imported" in spec:
        known = {"data": "dataset", "network": "model", "optimiser": "optimizer"}
        return {part: str(spec["imported"][name]) for part, name in known.items()}
    workload = spec["workload"]
    if isinstance(workload, str):
        workload = {part: getattr(WORKLOADS[workload], part) for part in ("data", "network", "optimiser", "schedule")}
    return {part: str(name) for part, name in workload.items()}


def _expected(seen: Overview, waiting: Mapping[tuple[int, float], set[int]]) -> dict[str, Any]:
    """What the rest should take, in seconds of one core, as far as finished cells tell."""
    from parsity.study import Costs, StudySpec, usual_workers

    spec = StudySpec.from_document(seen.spec)
    costs = Costs(spec)
    for key, spent in seen.spent.items():
        costs.learn(key, spent.results, spent.seconds)
    parts = [costs.seconds(cell, len(numbers)) for cell, numbers in waiting.items() if numbers]
    middle, doubt, workers = sum(parts), costs.doubt(parts), usual_workers(spec)
    return {
        "core_seconds": middle,
        "low": middle / doubt,
        "high": middle * doubt,
        "workers": workers,
        "seconds": middle / workers,
    }
