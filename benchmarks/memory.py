"""Resident memory of a race of 100 trials of Simple-CNN (python benchmarks/memory.py).

Each batch size has a process of its own. A few checks are run; after them nothing grows any more.
"""

from __future__ import annotations

import subprocess
import sys

CODE = """
import resource, sys, torch
torch.set_num_threads(1)
from parsity import workload
from parsity.racing import Cell
batch_size, sparsity = int(sys.argv[1]), float(sys.argv[2])
work = workload("mnist-momentum").with_(criterion="magnitude")
cell = Cell(workload=work, batch_size=batch_size, sparsity=sparsity)
trials = [cell.begin(number) for number in range(1, 101)]
for trial in trials[: 100 if batch_size < 1000 else 3]:
    trial.work()
    trial._check()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    """Print the peak of each."""
    for sparsity in (0.0, 0.9):
        for batch_size in (2, 128, 1024, 16384):
            done = subprocess.run(
                [sys.executable, "-c", CODE, str(batch_size), str(sparsity)], check=True, capture_output=True, text=True
            )
            print(f"B={batch_size:<6} S={sparsity:<4} peak {float(done.stdout):7.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
