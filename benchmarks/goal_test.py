"""Images looked at per goal test, certified against plain, on MNIST (python benchmarks/goal_test.py).

One race is run, dense, at B = 64; each of its goal tests is asked twice, once certified and once by counting the whole
validation split, with the same engine. The answers must agree. Seconds are those of the processor.
"""

from __future__ import annotations

import time

import torch

from parsity import workload
from parsity.racing import Cell, LocalBounds, Runner
from parsity.training import CertifiedTest, most_mistakes


def main() -> None:
    """Print images and seconds per test."""
    torch.set_num_threads(1)
    work = workload("mnist-momentum")
    cell = Cell(workload=work, batch_size=64, sparsity=0.0)
    trials = [cell.begin(number) for number in range(1, 9)]
    seconds = {"certified": 0.0, "plain": 0.0}
    looked = {"certified": 0, "plain": 0}
    tests = 0
    certified = CertifiedTest.__call__

    def both(self: CertifiedTest, margins, goals, step):
        nonlocal tests
        started = time.process_time()
        verdict = certified(self, margins, goals, step)
        between = time.process_time()
        validation = cell.split.validation
        wrong = len(validation) - int((margins(validation) > 0).sum())
        plain = {goal: wrong <= most_mistakes(goal, len(validation)) for goal in goals}
        seconds["certified"] += between - started
        seconds["plain"] += time.process_time() - between
        looked["certified"] += verdict.looked
        looked["plain"] += len(validation)
        tests += 1
        assert plain == verdict.met
        return verdict

    CertifiedTest.__call__ = both  # type: ignore[method-assign]
    Runner(trials, LocalBounds(), patience=1.0).run()
    for kind in seconds:
        print(f"{kind:>9}: {looked[kind] / tests:7.1f} images and {seconds[kind] / tests * 1e3:6.2f} ms a test")
    print(
        f"{tests} tests, all answers equal: {looked['plain'] / looked['certified']:.1f} times fewer images, "
        f"{seconds['plain'] / seconds['certified']:.1f} times less time"
    )


if __name__ == "__main__":
    main()
