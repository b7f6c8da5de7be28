"""One sparse cell raced on two engines, seed by seed: seconds and K* side by side (python benchmarks/cell.py).

MNIST, momentum, B = 64, S = 0.9, 16 trials, patience 1: the native engine, which visits surviving weights alone,
beside the traced one, which does the dense arithmetic and multiplies by masks. Pruning scores are made once, before
either is timed; seconds are the processor's, all being on one thread. The engines round differently, so after some
hundred steps their trials part ways, and K* may differ; whether by more than luck is told by the spread of K* over
seeds. The engines take turns in going first.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from parsity import race, workload
from parsity.engines import available_engines
from parsity.racing import Cell, Scores
from parsity.results import CellResult


class Raced(NamedTuple):
    """A race: its K* (None where no trial got there), its winner and what it took."""

    steps: int | None
    winner: int | None
    seconds: float
    step_seconds: float


def raced(engine: str, arguments: argparse.Namespace, seed: int, folder: str) -> Raced:
    """Race the cell on one engine."""
    started = time.process_time()
    work = workload(arguments.workload)
    work = work.with_(step_limit=arguments.step_limit or work.step_limit, goals=arguments.goal or work.goals)
    result: CellResult = race(
        work,
        arguments.batch_size,
        arguments.sparsity,
        trials=arguments.trials,
        seed=seed,
        engine=engine,
        scores_folder=Path(folder),
    )
    taken = time.process_time() - started
    winner = result.winner(work.goals[0])
    paces = [trial.step_seconds for trial in result.trials if trial.step_seconds is not None]
    return Raced(winner and winner.step, winner and winner.number, taken, statistics.median(paces))


def prepare(arguments: argparse.Namespace, seed: int, folder: str) -> float:
    """Score the weights of every trial; return the seconds that took."""
    started = time.process_time()
    cell = Cell(
        workload=workload(arguments.workload),
        batch_size=arguments.batch_size,
        sparsity=arguments.sparsity,
        seed=seed,
        scores=Scores(Path(folder)),
    )
    for number in range(1, arguments.trials + 1) if arguments.sparsity else ():
        cell.mask(number)
    return time.process_time() - started


def spread(steps: Sequence[int]) -> str:
    """The range over seeds."""
    if len(steps) < 2:
        return f"{steps[0]:,}" if steps else "-"
    return f"{min(steps):,} to {max(steps):,}"


def main() -> None:
    """Race, and print a line for each seed and the verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workload", default="mnist-momentum")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--sparsity", type=float, default=0.9)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--goal", type=lambda text: (float(text),), help="an error instead of the workload's")
    parser.add_argument("--step-limit", type=int, help="instead of the workload's")
    parser.add_argument("--seeds", type=int, default=3, help="how many (default: 3)")
    parser.add_argument("--engines", nargs=2, default=["native", "traced"], choices=list(available_engines()))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{arguments.workload}, B = {arguments.batch_size}, S = {arguments.sparsity:g}, {arguments.trials} trials, "
        f"goal {(arguments.goal or workload(arguments.workload).goals)[0]:g}, patience 1; one thread",
        flush=True,
    )
    found: dict[str, list[Raced]] = {engine: [] for engine in arguments.engines}
    for seed in range(arguments.seeds):
        with tempfile.TemporaryDirectory() as folder:
            scoring = prepare(arguments, seed, folder)
            turn = arguments.engines if seed % 2 == 0 else arguments.engines[::-1]
            here = {engine: raced(engine, arguments, seed, folder) for engine in turn}
        for engine in arguments.engines:
            found[engine].append(here[engine])
        one, other = (here[engine] for engine in arguments.engines)
        texts = [
            f"{engine}: K* {here[engine].steps or '-':>6} (trial {here[engine].winner or '-'}) in "
            f"{here[engine].seconds:7.1f} s, {here[engine].step_seconds * 1e3:.2f} ms a step"
            for engine in arguments.engines
        ]
        steps = f"K* {one.steps / other.steps:.3f} x" if one.steps and other.steps else "K* -"
        print(
            f"seed {seed}  {'   '.join(texts)}   {other.seconds / one.seconds:.2f} x faster, a step "
            f"{other.step_seconds / one.step_seconds:.2f} x; {steps}   (scores: {scoring:.0f} s, once)",
            flush=True,
        )
    pairs = [
        (one.steps, other.steps)
        for one, other in zip(*(found[engine] for engine in arguments.engines), strict=True)
        if one.steps and other.steps
    ]
    if not pairs:
        return
    for place, engine in enumerate(arguments.engines):
        print(f"{engine}: K* over seeds {spread([pair[place] for pair in pairs])}")
    between = max(abs(one - other) for one, other in pairs)
    print(f"most that the engines differ at one seed: {between} steps", end="")
    if len(pairs) > 1:
        every = [steps for pair in pairs for steps in pair]
        seeds = max(max(one for one, _ in pairs) - min(one for one, _ in pairs), 0)
        inside = "within" if between <= seeds else "beyond"
        print(f", {inside} the spread of seeds on one engine, {seeds} (all K*: {min(every):,} to {max(every):,})")
    else:
        print("")


if __name__ == "__main__":
    main()
