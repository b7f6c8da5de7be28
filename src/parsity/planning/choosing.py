"""Which number of workers: the fastest, the cheapest, the cheapest by a deadline, the fastest within a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parsity.planning.regression import Floats
from parsity.planning.time_to_result import Line, Point

Aim = Literal["fastest", "cheapest", "deadline", "budget"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The best number of workers of one sparsity for one aim; ``point`` is None where nothing does."""

    aim: Aim
    sparsity: float
    limit: float | None
    """The deadline in seconds, or the budget in worker-seconds."""
    point: Point | None
    fewest: int | None
    most: int | None
    """The 95 % interval of the best number of workers: what other searches and the model's errors would choose."""
    likely: float | None
    """In which share of the draws the chosen point keeps the deadline or the budget."""


def choices(lines: Sequence[Line], *, deadline: float | None = None, budget: float | None = None) -> tuple[Choice, ...]:
    """For each aim, each sparsity's choice; the fastest and the cheapest without being asked."""
    found = [_choose(line, "fastest", None) for line in lines]
    found += [_choose(line, "cheapest", None) for line in lines]
    if deadline is not None:
        found += [_choose(line, "deadline", deadline) for line in lines]
    if budget is not None:
        found += [_choose(line, "budget", budget) for line in lines]
    return tuple(found)


def best_of_all(chosen: Sequence[Choice], aim: Aim) -> Choice | None:
    """The best sparsity's choice for an aim: by cost for the cheapest and by the deadline, else by time."""
    able = [one for one in chosen if one.aim == aim and one.point is not None]
    if not able:
        return None

    def cost(one: Choice) -> float:
        point = one.point
        if point is None or point.seconds.value is None:
            return math.inf
        return point.seconds.value * (point.workers if aim in ("cheapest", "deadline") else 1)

    return min(able, key=cost)


def _choose(line: Line, aim: Aim, limit: float | None) -> Choice:
    workers = np.array([point.workers for point in line.points], dtype=float)
    seconds = np.array([point.seconds.value or math.inf for point in line.points])
    place = int(_best(np.log(seconds)[None], workers, aim, limit)[0])
    drawn = np.array([-1])
    if not np.isnan(line.log_seconds).any():
        drawn = _best(line.log_seconds, workers, aim, limit)
    able = np.sort(workers[drawn[drawn >= 0]])
    likely = None
    if limit is not None and place >= 0 and not np.isnan(line.log_seconds).any():
        there = np.exp(line.log_seconds[:, place]) * (workers[place] if aim == "budget" else 1.0)
        likely = float(np.mean(there <= limit))
    return Choice(
        aim=aim,
        sparsity=line.sparsity,
        limit=limit,
        point=line.points[place] if place >= 0 else None,
        fewest=int(np.quantile(able, 0.025, method="lower")) if len(able) else None,
        most=int(np.quantile(able, 0.975, method="higher")) if len(able) else None,
        likely=likely,
    )


def _best(log_seconds: Floats, workers: Floats, aim: Aim, limit: float | None) -> Floats:
    """For each row of times, the column to choose; -1 where none will do. Ties go to the fewer workers."""
    cost = log_seconds + np.log(workers)
    ahead = cost if aim in ("cheapest", "deadline") else log_seconds
    if limit is not None:
        kept = log_seconds if aim == "deadline" else cost
        ahead = np.where(kept <= math.log(limit) + 1e-12, ahead, np.inf)
    found: Floats = np.where(np.isfinite(ahead).any(axis=1), ahead.argmin(axis=1), -1)
    return found
