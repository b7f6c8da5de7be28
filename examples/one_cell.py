"""One cell of one's own network in a few lines (python examples/one_cell.py)."""

import sys
from pathlib import Path

from parsity import Workload, race

sys.path.append(str(Path(__file__).parent / "own_model"))
from shapes import load, network

work = Workload(data=load(), network=network, goals=(0.1, 0.2), check_interval=4, step_limit=2000)
for sparsity in (0.0, 0.9):
    cell = race(work, batch_size=128, sparsity=sparsity, trials=8, patience=2)
    for goal in cell.goals:
        winner = cell.winner(goal)
        print(f"sparsity {sparsity}, goal {goal}: {winner.step} steps, by trial {winner.number}", cell.counts(goal))
