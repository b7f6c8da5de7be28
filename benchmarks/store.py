"""A store of 100,000 trials: how long opening it, what `status` and `table` show, and the rest take.

Run as ``python benchmarks/store.py``. Every figure is for a process of its own, from its start to the answer; between
them nothing is kept but the file. Medians, with the range; on a machine that is busy with other
things the seconds of work say more. Fails if opening, the state, the table, or all that `parsity status`
shows takes a second or more of work.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from parsity.results import Complete, Incomplete, Infeasible, Outcome, Outpaced, TrialResult
from parsity.study import Store, gather_provenance

LIMIT = 1.0
TASKS = {
    "open": "",
    "state": "store.state()",
    "table": "store.table()",
    "digest": "store.digest()",
    "status": "seen = store.overview(); seen.cells, seen.digest",
    "cells": "store.cells()",
    "verify": "assert store.verify() == []",
}
CHILD = """
import sys, time
started, busy = time.perf_counter(), time.process_time()
from pathlib import Path
from parsity.study import Store
store = Store.open(Path(sys.argv[1]))
{task}
print(time.perf_counter() - started, time.process_time() - busy)
"""


def result(rng: random.Random, number: int, best: int) -> TrialResult:
    """A trial such as a race leaves behind: one in a hundred wins, most are outpaced."""
    ends: list[Outcome] = [Outpaced(2 * best), Infeasible(rng.randrange(best)), Incomplete(40_000)]
    outcome = Complete(best, best - 16) if number == 37 else rng.choices(ends, [8, 2, 1])[0]
    return TrialResult(
        number=number,
        metaparameters={"learning_rate": rng.random(), "momentum": rng.random()},
        outcomes={0.12: outcome, 0.14: outcome},
        steps=outcome.step,
        images_looked_at=rng.randrange(10**6),
        seconds=rng.random() * 60,
    )


def fill(path: Path, trials: int, per_cell: int) -> float:
    """Make the store; return the seconds that adding took, one cell at a time."""
    sizes = list(range(2, 2 + -(-trials // (4 * per_cell))))
    sparsities = [0.0, 0.5, 0.7, 0.9]
    spec = {"workload": "made-up", "batch_sizes": sizes, "sparsities": sparsities, "goals": [0.12, 0.14]}
    rng = random.Random(1)
    with Store.create(path, spec={**spec, "trials": per_cell, "patience": 2}, identity="0" * 64) as store:
        run = store.begin_run(gather_provenance())
        started = time.perf_counter()
        for batch_size in sizes:
            for sparsity in sparsities:
                best = 16 * rng.randrange(3, 500)
                results = [result(rng, number, best) for number in range(1, per_cell + 1)]
                masks = {number: f"{rng.getrandbits(256):064x}" for number in range(1, per_cell + 1)}
                store.add(
                    batch_size,
                    sparsity,
                    results,
                    run=run,
                    patience=2,
                    goals=(0.12, 0.14),
                    engine="native",
                    test="certified",
                    mask_digests=masks,
                )
        return time.perf_counter() - started


def main() -> int:
    """Measure, print, and fail if what a person waits for takes too long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--per-cell", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.sqlite")
        seconds = fill(path, arguments.trials, arguments.per_cell)
        cells = arguments.trials // arguments.per_cell
        print(f"trials {arguments.trials:,} in {cells:,} cells, two goals; {path.stat().st_size / 1e6:.0f} MB")
        print(f"adding {1000 * seconds / cells:.1f} ms a cell of {arguments.per_cell}, synced to disk each time")
        slow = []
        for name, task in TASKS.items():
            walls, works = [], []
            for _ in range(arguments.rounds):
                command = [sys.executable, "-c", CHILD.format(task=task), path]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                seconds = list(map(float, done.stdout.split()))
                walls.append(seconds[0])
                works.append(seconds[1])
            wall, work = statistics.median(walls), statistics.median(works)
            print(f"{name:8} {wall:.2f} s ({min(walls):.2f} .. {max(walls):.2f}), of that {work:.2f} s of work")
            if name in ("open", "state", "table", "status") and work >= LIMIT:
                slow.append(name)
    if slow:
        print(f"a second or more: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
