"""What desk studies took, beside what the paper's protocol would have: python benchmarks/protocol_hours.py EXPORT...

EXPORT is what `parsity export --to json` wrote (default: all of results/). The full protocol is 14 batch sizes x 4
sparsities x 100 trials, every trial alone to the goal or to the step limit, at the measured seconds per step. What a
trial would take that the race left unfinished is between the best one's steps and the limit, hence a range. Batch sizes
and sparsities that were not measured are read off between those that were, on log scales; beyond the largest, steps
stay and seconds grow with the images. Goal tests, where the protocol looks at all validation images, are not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parsity.study.extents import PAPER
from parsity.training import WORKLOADS

TRIALS = 100
SPLIT = {"mnist": 54_000, "fashion-mnist": 54_000, "cifar10": 45_000}
"""Images of the training split."""


class Cell(NamedTuple):
    """What is known of a cell: seconds per step, the best trial's steps, the diverged trials' share and mean steps."""

    batch_size: int
    pace: float
    steps: float
    diverged: float
    until: float


class Work(NamedTuple):
    """Images that training passes over, and core-seconds."""

    images: float
    seconds: float


def cells(trials: Sequence[Mapping[str, Any]], sparsity: float) -> list[Cell]:
    """The measured cells of one sparsity, smallest batch first, for the hardest goal."""
    goal = min(trial["goal"] for trial in trials)
    found = []
    some = [trial for trial in trials if trial["goal"] == goal and trial["sparsity"] == sparsity]
    for batch_size in sorted({trial["batch_size"] for trial in some}):
        here = [trial for trial in some if trial["batch_size"] == batch_size]
        done = [trial["step"] for trial in here if trial["status"] == "complete"]
        paces = [trial["step_seconds"] for trial in here if trial["step_seconds"]]
        gone = [trial["step"] for trial in here if trial["status"] == "infeasible"]
        if done and paces:
            share = len(gone) / len(here)
            until = statistics.mean(gone) if gone else 0.0
            found.append(Cell(batch_size, statistics.median(paces), min(done), share, until))
    return found


def protocol(measured: Sequence[Cell], batch_size: int, limit: int) -> tuple[Work, Work]:
    """The least and the most that 100 trials of a cell take."""
    log_b = np.log([cell.batch_size for cell in measured])
    at = float(np.log(batch_size))

    def read(values: Sequence[float]) -> float:
        return float(np.exp(np.interp(at, log_b, np.log(values))))

    pace = read([cell.pace for cell in measured]) * max(1.0, batch_size / measured[-1].batch_size)
    steps = read([cell.steps for cell in measured])
    share = float(np.interp(at, log_b, [cell.diverged for cell in measured]))
    until = float(np.interp(at, log_b, [cell.until for cell in measured]))
    totals = [TRIALS * (share * until + (1 - share) * each) for each in (steps, limit)]
    least, most = (Work(total * batch_size, total * pace) for total in totals)
    return least, most


def row(path: Path) -> str:
    """One study's line of the table."""
    told = json.loads(path.read_text())
    spec, trials = told["about"]["spec"], told["trials"]
    once = {(t["batch_size"], t["sparsity"], t["trial"]): t for t in trials}.values()  # goals share their runs
    name = spec["name"]
    split = SPLIT[WORKLOADS[spec["workload"]].data]
    passes = sum(t["image_passes"] for t in once) / split
    hours = sum(t["steps"] * (t["step_seconds"] or 0) for t in once) / 3600
    sparsities = sorted({t["sparsity"] for t in trials})
    least, most = Work(0, 0), Work(0, 0)
    for sparsity in PAPER.sparsities:
        near = min(sparsities, key=lambda one: abs(one - sparsity))
        for batch_size in PAPER.batch_sizes:
            low, high = protocol(cells(trials, near), batch_size, spec["step_limit"])
            least = Work(least.images + low.images, least.seconds + low.seconds)
            most = Work(most.images + high.images, most.seconds + high.seconds)
    measured = f"{len({(t['batch_size'], t['sparsity']) for t in once})} x {max(t['trial'] for t in once)}"
    return (
        f"| {name} | {measured} | {passes:,.0f} | {hours:.1f} | {least.images / split:,.0f} to "
        f"{most.images / split:,.0f} | {least.seconds / 3600:,.0f} to {most.seconds / 3600:,.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("exports", nargs="*", type=Path, metavar="EXPORT")
    arguments = parser.parse_args()
    here = Path(__file__).parent.parent / "results"
    print("| study | cells x trials | data passes | core-hours | data passes, full protocol | core-hours |")
    print("|---|---|---|---|---|---|")
    for path in arguments.exports or sorted(here.glob("*/study.json")):
        print(row(path), flush=True)


if __name__ == "__main__":
    main()
