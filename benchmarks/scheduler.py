"""The scheduler of studies on 2 to 10,000 cores, simulated: the paper's whole grid, the rule in use against others.

    python benchmarks/scheduler.py [--times FILE] [--like FOLDER] [--workers LIST] [--seeds N] [--life HOURS]

The grid is that of `mnist-momentum/paper`: 14 batch sizes x 4 sparsities x 100 trials, patience 1. What a step costs is
read from ``--times`` (`parsity scale`; the rows of one worker), or is the pace that dry runs reckon with. Steps to the
goal follow that pace's law; how the other trials of a cell end, relative to its best one, is drawn from the trials of
``--like`` (a study of infinite patience), or from a mixture: 45 % complete with lognormal steps, 25 % diverge, 30 %
never end, luck shared between cells to a half. The driver's expectations are wrong by e^0.4 either way. Every number
is the mean over ``--seeds`` such grids.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from parsity.planning import Conditions, End, Simulated, SimulatedCell, fit_cost_model, simulate
from parsity.results import Complete, Infeasible, read_step_times
from parsity.study import Study
from parsity.study.estimates import PACES
from parsity.study.planning import Piece, cut
from parsity.study.presets import preset

PRESET = preset("mnist-momentum/paper")
WORKERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 5000, 10000)
WRONG, SPREAD = 0.4, 0.8
Rule = Callable[[Piece, Sequence[Piece], int], list[Piece]]
Ends = list[tuple[str, float]]
"""How each trial ends: complete after so many times K*, infeasible after so many, or never."""


def parts(piece: Piece, number: int) -> list[Piece]:
    """So many parts, dealt like cards."""
    number = min(number, len(piece.trials))
    hands = [piece.trials[part::number] for part in range(number)]
    return [Piece(piece.cell, hand, piece.seconds * len(hand) / len(piece.trials)) for hand in hands]


def whole(piece: Piece, waiting: Sequence[Piece], workers: int) -> list[Piece]:
    """A cell is never cut."""
    return [piece]


def single(piece: Piece, waiting: Sequence[Piece], workers: int) -> list[Piece]:
    """Every trial is a task of its own."""
    return parts(piece, len(piece.trials))


def per_worker(piece: Piece, waiting: Sequence[Piece], workers: int) -> list[Piece]:
    """What was done before: a part for each worker as soon as a cell is more than a worker's share."""
    share = (piece.seconds + sum(other.seconds for other in waiting)) / workers
    return [piece] if piece.seconds <= share or workers == 1 else parts(piece, workers)


def of_share(fraction: float) -> Rule:
    """The fewest parts that are no more than a fraction of a worker's share."""

    def rule(piece: Piece, waiting: Sequence[Piece], workers: int) -> list[Piece]:
        share = (piece.seconds + sum(other.seconds for other in waiting)) / workers
        if piece.seconds <= share or workers == 1:
            return [piece]
        return parts(piece, min(workers, math.ceil(piece.seconds / (fraction * share))))

    return rule


RULES: dict[str, Rule] = {
    "in use": cut,
    "before": per_worker,
    "1 share": of_share(1.0),
    "1/4 share": of_share(0.25),
    "whole": whole,
    "single": single,
}


def ends_like(folder: Path) -> list[Ends]:
    """How the trials of each cell of a study ended, relative to its K*."""
    found = []
    for cell in Study.open(folder).cells():
        goal = min(cell.goals)
        best = cell.steps_to_result(goal)
        if best is None:
            continue
        ends: Ends = []
        for trial in cell.trials:
            outcome = trial.outcomes[goal]
            if isinstance(outcome, Complete):
                ends.append(("complete", outcome.step / best))
            elif isinstance(outcome, Infeasible):
                ends.append(("infeasible", outcome.step / best))
            else:
                ends.append(("never", math.inf))
        found.append(ends)
    return found


def made_up(chance: random.Random, luck: Sequence[float], kinds: Sequence[str]) -> Ends:
    """A cell's trials; luck is shared with the other cells to a half."""
    steps = [math.exp(SPREAD * (one + chance.gauss(0, 1)) / math.sqrt(2)) for one in luck]
    best = min(step for step, kind in zip(steps, kinds, strict=True) if kind == "complete")
    return [
        (kind, step / best if kind == "complete" else 0.3 * chance.random() if kind == "infeasible" else math.inf)
        for step, kind in zip(steps, kinds, strict=True)
    ]


def grid(seed: int, like: list[Ends], step: Callable[[int, float], float]) -> tuple[list[SimulatedCell], list[Piece]]:
    """The cells of the paper's grid, and the pieces that a driver begins with."""
    spec, chance = PRESET.spec, random.Random(seed)
    pace = PACES[spec.ingredients.network]
    luck = [chance.gauss(0, 1) for _ in range(spec.trials)]
    kinds = chance.choices(("complete", "infeasible", "never"), (0.45, 0.25, 0.3), k=spec.trials)
    cells, pieces = [], []
    for batch_size, sparsity in spec.cells():
        if like:
            measured = chance.choice(like)
            relative = [chance.choice(measured) for _ in range(spec.trials)]
            relative[chance.randrange(spec.trials)] = ("complete", 1.0)
        else:
            relative = made_up(chance, luck, kinds)
        best = pace.steps(batch_size, sparsity)
        ends = tuple(
            End(min(best * ratio, spec.step_limit), kind == "complete" and best * ratio <= spec.step_limit)
            for kind, ratio in relative
        )
        seconds = step(batch_size, sparsity)
        cell = SimulatedCell(key=(batch_size, sparsity), ends=ends, step_seconds=seconds, patience=spec.patience)
        cells.append(cell)
        expected = cell.needed * math.exp(chance.gauss(0, WRONG))
        pieces.append(Piece(cell.key, tuple(range(1, spec.trials + 1)), expected))
    return cells, sorted(pieces, key=lambda piece: -piece.seconds)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=Path)
    parser.add_argument("--like", type=Path)
    parser.add_argument("--workers", default=",".join(map(str, WORKERS)))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--life", type=float, default=math.inf, help="hours between two deaths of a worker")
    parser.add_argument("--scores", type=float, default=7.0, help="seconds of one pass of scores")
    arguments = parser.parse_args()
    pace = PACES[PRESET.spec.ingredients.network]

    def step(batch_size: int, sparsity: float) -> float:
        return (batch_size + pace.overhead) / pace.images

    if arguments.times is not None:
        model = fit_cost_model(read_step_times(arguments.times))

        def step(batch_size: int, sparsity: float) -> float:
            return model.step(batch_size, 1, sparsity).seconds

    like = ends_like(arguments.like) if arguments.like is not None else []
    grids = [grid(seed, like, step) for seed in range(arguments.seeds)]
    conditions = Conditions(scores=arguments.scores, life=3600 * arguments.life)
    first = [sum(cell.needed for cell in cells) for cells, _ in grids]
    chains = [max(cell.chain for cell in cells) for cells, _ in grids]
    print(f"needed {mean(first) / 3600:.1f} core-hours, longest trial {mean(chains):.0f} s")
    print(f"from {mean(first) / mean(chains):.0f} cores on, the longest trial is the bound\n")
    print(
        "by rule: makespan over ideal, and overrun over the work needed; then how the cores' time went by that in use"
    )
    print(f"{'cores':>6} {'ideal':>9} {'makespan':>9}  " + "".join(f"{name:>14}" for name in RULES), end="")
    print(f"{'prepared':>11}{'lost':>7}{'idle':>7}")
    for workers in map(int, arguments.workers.split(",")):
        found = {
            name: [simulate(cells, pieces, rule, workers, conditions) for cells, pieces in grids]
            for name, rule in RULES.items()
        }
        used = found["in use"]
        ideal, makespan = mean(one.ideal for one in used), mean(one.makespan for one in used)
        ratios = "".join(f"{_ratio(some):>14}" for some in found.values())
        line = f"{workers:>6} {ideal:>8,.0f}s {makespan:>8,.0f}s  {ratios}"
        prepared, lost = (mean(getattr(one, part) / one.needed for one in used) for part in ("prepared", "lost"))
        idle = mean(one.idle / (one.workers * one.makespan) for one in used)
        print(f"{line}{prepared:>11.1%}{lost:>7.1%}{idle:>7.1%}", flush=True)


def _ratio(found: Sequence[Simulated]) -> str:
    """Makespan over ideal, and steps beyond those needed over those needed."""
    overrun = mean(one.overrun / one.needed for one in found)
    return f"{mean(one.makespan / one.ideal for one in found):.2f} ({overrun:.0%})"


if __name__ == "__main__":
    main()
