"""Studies whose truth is known: every trial needs K(B) x luck steps, and a race cuts them at its patience."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from parsity.metaparameters import Log, ReverseLog, Space
from parsity.results import CellResult, Complete, Incomplete, Infeasible, Outcome, TrialResult, settled

GOAL = 0.02
SPACE = Space({"learning_rate": Log(1e-4, 1.0), "momentum": ReverseLog(0.9, 0.9999)})
GRID = tuple(2**power for power in range(1, 15))


def outcome(steps: float, interval: int, limit: int) -> Outcome:
    """How a trial ends that meets the goal after ``steps``: infinite is never, NaN is divergence."""
    if math.isnan(steps):
        return Infeasible(interval)
    if steps > limit:
        return Incomplete(limit)
    step = interval * max(1, math.ceil(steps / interval))
    return Complete(step, step - interval)


@cache
def points(first: int, count: int) -> list[dict[str, float]]:
    """The metaparameters of these trials."""
    return SPACE.trials(first, count)


def cell(
    steps: Sequence[float],
    *,
    batch_size: int = 32,
    sparsity: float = 0.0,
    patience: float = math.inf,
    interval: int = 1,
    limit: int = 10**9,
    metaparameters: Sequence[Mapping[str, float]] | None = None,
    first: int = 1,
) -> CellResult:
    """A cell whose trials need these steps."""
    if metaparameters is None:
        metaparameters = points(first, len(steps))
    trials = [
        TrialResult(
            number=first + place,
            metaparameters=metaparameters[place],
            outcomes={GOAL: outcome(need, interval, limit)},
            steps=1,
            images_looked_at=1,
        )
        for place, need in enumerate(steps)
    ]
    return CellResult(
        workload="made up",
        batch_size=batch_size,
        sparsity=sparsity,
        goals=(GOAL,),
        patience=patience,
        trials=settled(trials, (GOAL,), patience),
        engine="none",
        test="certified",
        seconds=0.0,
    )


def curve_cells(
    law: Callable[[float], float],
    luck: np.ndarray,
    *,
    batch_sizes: Sequence[int] = GRID,
    **known: object,
) -> list[CellResult]:
    """The cells of one curve: trial i at the j-th batch size needs law(B_j) x luck[i, j] steps."""
    return [
        cell(list(law(batch) * luck[:, place]), batch_size=batch, **known)  # type: ignore[arg-type]
        for place, batch in enumerate(batch_sizes)
    ]


def lognormal(rng: np.random.Generator, trials: int, cells: int, *, shared: float = 0.5, spread: float = 0.5):
    """Luck that trials share between cells to the degree ``shared``."""
    common, own = rng.standard_normal((trials, 1)), rng.standard_normal((trials, cells))
    return np.exp(spread * (math.sqrt(shared) * common + math.sqrt(1 - shared) * own))


def measured_points(points: Mapping[int, float], **known: object) -> list[CellResult]:
    """One trial per cell that needs exactly these steps: a curve read off a plot."""
    return [cell([steps], batch_size=batch, **known) for batch, steps in points.items()]  # type: ignore[arg-type]
