"""What ``parsity status`` prints for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from parsity.cli.progress import duration
from parsity.cli.tables import counted, print_table, print_title, short
from parsity.study.planning import ranges

RUNS = 5  # the newest ones
SHORT = 12  # letters of an identity or a digest


def print_status(found: dict[str, Any]) -> None:
    """Print it: facts, the trials that were set aside, the newest runs."""
    print_title(f"{found['name']}: {_state(found)}")
    print_table(("", ""), list(_facts(found)))
    if found["set_aside"]:
        sys.stdout.write("\n")
        print_title("set aside")
        rows, numbers = list(_aside_rows(found["set_aside"])), ("batch size", "sparsity", "tries")
        print_table(("batch size", "sparsity", "trials", "tries", "reason"), rows, numbers=numbers)
    if found["runs"]:
        sys.stdout.write("\n")
        newest = found["runs"][-RUNS:]
        rest = len(found["runs"]) - len(newest)
        print_title(f"the newest {len(newest)} of {len(found['runs'])} runs" if rest else "runs")
        print_table(
            ("run", "started", "ended", "took", "how"),
            [_run_row(run, found) for run in newest],
            numbers=("run", "took"),
        )


def _state(found: dict[str, Any]) -> str:
    if not found["finished"]:
        return "unfinished" if found["trials"]["measured"] else "nothing measured yet"
    return "finished, with trials set aside" if found["set_aside"] else "finished"


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    cells, trials = found["cells"], found["trials"]
    parts = found["workload"]
    how = [parts[part] for part in ("optimiser", "schedule") if part in parts]
    yield "workload", ", ".join([f"{parts['network']} on {parts['data']}", *how])
    for key in ("goals", "batch_sizes", "sparsities"):
        yield key.replace("_", " "), ", ".join(map(short, found[key]))
    yield "patience", short(found["patience"])
    yield "identity", found["identity"][:SHORT]
    yield "digest", found["digest"][:SHORT]
    begun = f", {cells['begun']} begun" if cells["begun"] else ""
    yield "cells", f"{cells['finished']} of {cells['planned']} finished{begun}"
    rest = [f"{trials[key]:,} {word}" for key, word in (("due", "due"), ("set_aside", "set aside")) if trials[key]]
    yield "trials", ", ".join([f"{trials['measured']:,} of {trials['planned']:,} measured", *rest])
    passes = counted(found["image_passes"], "image pass", "image passes")
    yield "spent", f"{passes}, {duration(found['seconds'])} of one core"
    if found["expected"]:
        expected = found["expected"]
        low, middle, high = (duration(expected[key]) for key in ("low", "core_seconds", "high"))
        spread = f"about {middle} of one core ({low} to {high})"
        workers = expected["workers"]
        yield "left", spread + (f", {duration(expected['seconds'])} with {workers} workers" if workers > 1 else "")
    yield "driver", f"process {found['driver']} is at work" if found["driver"] else "none"


def _aside_rows(notes: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """One line for all trials of a cell that met the same end."""
    together: dict[tuple[int, float, int, str], list[int]] = {}
    for note in notes:
        key = note["batch_size"], note["sparsity"], note["attempts"], note["reason"]
        together.setdefault(key, []).append(note["number"])
    for (batch_size, sparsity, attempts, reason), numbers in together.items():
        yield f"{batch_size:,}", short(sparsity), ranges(numbers), str(attempts), reason


def _run_row(run: dict[str, Any], found: dict[str, Any]) -> tuple[str, ...]:
    started = datetime.fromisoformat(run["started"])
    if run["ended"] is None:
        at_work = found["driver"] is not None and run is found["runs"][-1]
        return str(run["run"]), _time(started), "-", "-", "at work" if at_work else "cut off"
    ended = datetime.fromisoformat(run["ended"])
    took = duration((ended - started).total_seconds())
    return str(run["run"]), _time(started), _time(ended), took, str(run["how"])


def _time(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
