"""The cost model of a step on steps it was not fitted to. (python benchmarks/step_model.py [digits] [--times FILE]).

Without ``--times`` one worker is measured here, in seconds of the processor, which neighbours on the machine hardly
change; with it, the rows of `parsity scale`. Each combination of slice and workers is left out in turn.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from unittest.mock import patch

from parsity.planning import fit_cost_model, middle_and_worst, validate
from parsity.results import StepTimes, read_step_times


def measured(workload: str) -> StepTimes:
    """Steps of one worker, by the processor's clock."""
    from parsity.parallel import step_times

    with patch("time.perf_counter", time.process_time):
        return step_times(workload, slices=(1, 2, 4, 8, 16, 32, 64, 128, 256), sparsities=(0.0, 0.9), steps=40)


def main() -> None:
    """Print predicted and measured milliseconds, and how far off they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", nargs="?", default="digits")
    parser.add_argument("--times", type=Path)
    arguments = parser.parse_args()
    times = read_step_times(arguments.times) if arguments.times else measured(arguments.workload)
    found = validate(times, fit_cost_model(times))
    print("sparsity  workers  slice  measured  predicted  error")
    for one in found.held_out:
        took, said = 1e3 * one.measured.seconds, 1e3 * one.predicted.seconds
        row = (
            f"{one.sparsity:>8g}  {one.workers:>7}  {one.slice_size:>5}  {took:>8.3f}  {said:>9.3f}  {one.error:>+5.0%}"
        )
        print(row)
    for name, rows in (("fitted", found.fitted), ("held out", found.held_out)):
        middle, worst = middle_and_worst(rows)
        print(f"{name}: {middle:.1%} in the middle, {worst:.0%} at worst, of {len(rows)}")


if __name__ == "__main__":
    main()
