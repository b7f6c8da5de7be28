"""Trials whose ends are known beforehand, and races of them: what a study measures, without training anything."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parsity.results import Complete, Incomplete, Infeasible, Outcome, Outpaced, TrialResult
from parsity.study import Store

INTERVAL, LIMIT = 16, 320
GOALS = (0.02, 0.05, 0.1)
BATCH_SIZES, SPARSITIES = (2, 8), (0.0, 0.9)


def spec_of(**changes: Any) -> dict[str, Any]:
    """A spec in plain data, as the store gets it."""
    usual = {"batch_sizes": BATCH_SIZES, "sparsities": SPARSITIES, "goals": GOALS[:2], "trials": 6, "patience": 1.5}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in {"name": "made up", "workload": "digits", "seed": 0, **usual, **changes}.items()
    }


def truth(batch_size: int, sparsity: float, number: int, goal: float) -> Outcome:
    """How a trial ends if nobody stops it: early steps are common, so that ends collide."""
    # A diverging trial diverges for all goals at once, and an easier goal is met no later.
    rng = random.Random(f"{batch_size} {sparsity} {number}")
    diverges = rng.choice([math.inf, math.inf, rng.randrange(0, 9 * INTERVAL), INTERVAL * rng.randrange(9)])
    step = INTERVAL * math.ceil(rng.choice([2, 3, 4, 6, 9, 30]) * (0.1 / goal) ** 0.5)
    if diverges < min(step, LIMIT):
        return Infeasible(int(diverges))
    return Complete(step, step - INTERVAL) if step <= LIMIT else Incomplete(LIMIT)


def seen(end: Outcome, patience: float, bound: float) -> Outcome:
    """What is seen of this end by one who knows, all along, of a trial that took ``bound`` steps."""
    last = LIMIT if math.isinf(patience * bound) else int(patience * bound // INTERVAL * INTERVAL)
    check = (end.step // INTERVAL + 1) * INTERVAL if isinstance(end, Infeasible) else end.step
    return end if check <= last else Outpaced(last)


def best_steps(batch_size: int, sparsity: float, numbers: Iterable[int], goals: Iterable[float]) -> dict[float, float]:
    """K* by goal, from the ends themselves."""
    ends = {goal: [truth(batch_size, sparsity, number, goal) for number in numbers] for goal in goals}
    return {g: min((e.step for e in some if isinstance(e, Complete)), default=math.inf) for g, some in ends.items()}


def measured(
    batch_size: int, sparsity: float, number: int, patience: float, bounds: Mapping[float, float]
) -> TrialResult:
    """Trial ``number`` as run by one who knows ``bounds``: a K* by goal, or a step above it, learned late."""
    outcomes = {g: seen(truth(batch_size, sparsity, number, g), patience, bound) for g, bound in bounds.items()}
    rng = random.Random(f"{batch_size} {sparsity} {number} particulars")
    rates = {"learning_rate": rng.random(), "momentum": rng.random(), "decay_steps": rng.randrange(10**5)}
    errors = {goal: rng.random() for goal in sorted(GOALS)}
    return TrialResult(
        number=number,
        metaparameters=rates,
        outcomes=outcomes,
        steps=max(outcome.step for outcome in outcomes.values()),
        images_looked_at=random.randrange(10**6),  # what it cost differs from time to time
        seconds=random.random(),
        step_seconds=random.random() if number % 3 else None,
        timed_steps=random.randrange(1, 10**6) if number % 3 else 0,
        bytes_per_step=random.randrange(10**6) if number % 3 else 0,
        # Whoever leads at the time is tested.
        test_errors={g: errors[g] for g, o in outcomes.items() if isinstance(o, Complete) and o.step <= bounds[g]},
        log=tuple((16 * i, rng.random(), rng.random()) for i in range(1, 4)) if number % 3 == 0 else (),
    )


def add(store: Store, batch_size: int, sparsity: float, results: list[TrialResult], run: int, patience: float) -> None:
    """Store results with the circumstances they share."""
    goals = tuple(results[0].outcomes)
    masks = {result.number: f"{result.number:064x}" for result in results}
    store.add(
        *(batch_size, sparsity, results),
        run=run,
        patience=patience,
        goals=goals,
        engine="plain",
        test="certified",
        mask_digests=masks,
    )


def finish(store: Store, run: int, *, at_once: int = 3, late: bool = False) -> None:
    """Run all that is due, in shards of a few trials; they learn of K* all along, or ``late``."""
    grid = store.grid
    for batch_size, sparsity in grid.cells:
        due = store.due(batch_size, sparsity)
        best = best_steps(batch_size, sparsity, range(1, grid.trials + 1), grid.goals)
        for start in range(0, len(due), at_once):
            bounds = dict.fromkeys(best, math.inf) if late else best
            results = [
                measured(batch_size, sparsity, number, grid.patience, bounds) for number in due[start : start + at_once]
            ]
            add(store, batch_size, sparsity, results, run, grid.patience)


def make_store(path: Path, **changes: Any) -> Store:
    """A new store and nothing in it."""
    return Store.create(path, spec=spec_of(**changes), identity="f" * 64)


def finished_digest(folder: Path, spec: Mapping[str, Any]) -> str:
    """The digest of a study of this spec that nothing ever happened to."""
    path = folder / "undisturbed.sqlite"
    path.unlink(missing_ok=True)
    with Store.create(path, spec=spec, identity="f" * 64) as store:
        finish(store, store.begin_run({}), at_once=1000)
        return store.digest()
