"""The report of a study of 56 cells x 100 trials: how long it takes to make, to open, and how large it is.

Run as ``python benchmarks/report.py``. The study has the paper's grid - 14 batch sizes, 4 sparsities, 100 trials, one
goal, or two with ``--goals 2`` - with results drawn from c1/B + c2 and luck, and lies in a store as a driver leaves it.
Made means that `parsity report` runs in a process of its own, from its start to the file; opened means from the order
to a Chromium that has started to the last chart being drawn. Medians, with the range. Fails above 10 s, 2 s or 8 MB: of
making, the processor's seconds are judged, which neighbours touch less, and of opening, the fastest.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from parsity.results import Complete, Infeasible, Outcome, Outpaced, TrialResult
from parsity.study import STORE, Store, StudySpec, gather_provenance

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "report"))
MAKE, OPEN, SIZE = 10.0, 2.0, 8e6
WORKLOADS = {1: "mnist-momentum", 2: "fashion-mnist-momentum"}
GOALS = {1: (0.02,), 2: (0.12, 0.14)}
CHECK = 16
SPEC = {
    "name": "fifty-six",
    "batch_sizes": [2**power for power in range(1, 15)],
    "sparsities": [0.0, 0.5, 0.7, 0.9],
    "trials": 100,
    "patience": 4,
}


def fill(folder: Path, seed: int, count: int) -> None:
    """Make the study: a trial's luck is its own, whatever the cell, and its rate decides whether it diverges."""
    goals = GOALS[count]
    spec = StudySpec.from_document({**SPEC, "workload": WORKLOADS[count], "goals": list(goals)})
    rng = np.random.default_rng(seed)
    luck = np.exp(rng.gamma(2.0, 0.5, spec.trials))
    space = spec.search_space
    points = [space.trial(number) for number in range(1, spec.trials + 1)]
    with Store.create(folder / STORE, spec=spec.document(), identity=spec.identity) as store:
        run = store.begin_run(gather_provenance())
        for batch_size, sparsity in spec.cells():
            least = (1 + 2.5 * sparsity**2) * (60_000 / batch_size + 150)
            own = luck * np.exp(0.2 * rng.standard_normal(spec.trials))
            steps = {
                goal: [CHECK * math.ceil(least * one / CHECK / factor) for one in own]
                for goal, factor in zip(goals, (1.0, 1.4), strict=False)
            }
            results = []
            for place, point in enumerate(points):
                ends: dict[float, Outcome] = {}
                for goal in goals:
                    best, step = min(steps[goal]), steps[goal][place]
                    late = step > spec.patience * best
                    ends[goal] = Outpaced(int(spec.patience * best)) if late else Complete(step, step - CHECK)
                if place % 7 == 3:
                    ends = dict.fromkeys(goals, Infeasible(5 + place))
                last = max(end.step for end in ends.values())
                results.append(
                    TrialResult(
                        number=place + 1,
                        metaparameters=point,
                        outcomes=ends,
                        steps=last,
                        images_looked_at=200 * last // CHECK,
                        seconds=last * batch_size / 10_000,
                    )
                )
            store.add(
                batch_size,
                sparsity,
                results,
                run=run,
                patience=spec.patience,
                goals=goals,
                engine="native",
                test="certified",
            )
        store.end_run(run, "finished")


def made(folder: Path, page: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor that `parsity report` takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "parsity", "report", str(folder), "--output", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, work


def opened(page: Path, rounds: int) -> list[float]:
    """Seconds from the order to the last chart, in one Chromium."""
    from chromium import PROGRAM, Chromium  # type: ignore[import-not-found]

    if PROGRAM is None:
        return []
    found = []
    with Chromium() as browser:
        for _ in range(rounds):
            browser("Page.navigate", url="about:blank")
            started = time.perf_counter()
            browser.open(page.as_uri())
            found.append(time.perf_counter() - started)
            assert not browser.problems, browser.problems
    return found


def told(name: str, seconds: list[float]) -> None:
    """One line."""
    print(f"{name:8} {statistics.median(seconds):.2f} s ({min(seconds):.2f} .. {max(seconds):.2f})")


def main() -> int:
    """Measure, print, and fail if what a person waits for takes too long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--goals", type=int, choices=GOALS, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="write the page here as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, page = Path(name), Path(name, "report.html")
        fill(folder, arguments.seed, arguments.goals)
        walls, works = zip(*(made(folder, page) for _ in range(arguments.rounds)), strict=True)
        size = page.stat().st_size
        cells = len(SPEC["batch_sizes"]) * len(SPEC["sparsities"])  # type: ignore[arg-type]
        print(f"cells {cells} of {SPEC['trials']} trials, goals {arguments.goals}; the page is {size / 1e6:.2f} MB")
        told("made", list(walls))
        told("  work", list(works))
        seconds = opened(page, arguments.rounds)
        if seconds:
            told("opened", seconds)
        if arguments.keep:
            arguments.keep.write_bytes(page.read_bytes())
    slow = [
        what for what, much in (("made", min(works) >= MAKE), ("opened", min(seconds, default=0.0) >= OPEN)) if much
    ]
    slow += ["large"] if size >= SIZE else []
    if slow:
        print(f"beyond what is allowed: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
