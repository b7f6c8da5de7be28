"""How long until the goal, and what for: measured steps-to-result times modelled seconds per step, against W.

    T(W, S) = min over B of K*(B, S) t(ceil(B / W), W, S),        cost(W, S) = W T(W, S)

B runs over the batch sizes measured, up to one image per worker at least. Intervals are of K* - other searches of the
same size, as everywhere - and of the model: its errors on held-out steps, of compute and of exchange, are drawn
along, one of each for every draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from parsity.analysis import CurveDraws, Estimate, MeasuredStudy, Resampling, curves, draw
from parsity.planning.cost_model import CostModel, Step
from parsity.planning.regression import Floats

DRAWS = 1000


@dataclass(frozen=True, kw_only=True)
class Point:
    """The best that ``workers`` can do at ``sparsity``."""

    sparsity: float
    workers: int
    batch_size: int
    slice_size: int
    """Of the worker with most images: B / W, rounded up."""
    steps: float
    step: Step
    seconds: Estimate
    worker_seconds: Estimate


@dataclass(frozen=True, eq=False)
class Line:
    """One sparsity's points by workers, with the draws they come from."""

    sparsity: float
    points: tuple[Point, ...]
    log_seconds: Floats
    """A row per draw, a column per point: log of the least T at that many workers in that draw."""


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of log(predicted / measured), of the two parts of a step."""

    compute: float
    exchange: float


def time_lines(
    study: MeasuredStudy,
    goal: float,
    model: CostModel,
    workers: Sequence[int],
    uncertainty: Uncertainty,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[Line, ...]:
    """A line for each sparsity at which some cell has reached ``goal``."""
    found = [curve for curve in curves(study.cells, study.name) if curve.goal == goal]
    resampling = Resampling(found, draws=draws, seed=seed)
    errors = np.random.default_rng([seed, 7]).standard_normal((draws, 2))
    errors = errors * np.array([uncertainty.compute, uncertainty.exchange])
    lines = (_line(draw(curve, resampling), model, workers, errors) for curve in found)
    return tuple(line for line in lines if line is not None)


def _line(drawn: CurveDraws, model: CostModel, workers: Sequence[int], errors: Floats) -> Line | None:
    cells = [cell for cell in drawn.cells if cell is not None and cell.cell.best is not None]
    if not cells:
        return None
    sparsity = drawn.curve.sparsity
    steps = np.array([cell.cell.best.step for cell in cells if cell.cell.best is not None], dtype=float)
    typical = [cell.typical() for cell in cells]
    log_steps = np.column_stack([one.values for one in typical])
    points, columns = [], []
    for count in workers:
        able = [place for place, cell in enumerate(cells) if cell.cell.batch_size >= count]
        if not able or (count > 1 and not model.knows_exchange):
            continue
        costs = {p: model.step(math.ceil(cells[p].cell.batch_size / count), count, sparsity) for p in able}
        best = min(able, key=lambda p: (steps[p] * costs[p].seconds, cells[p].cell.batch_size))
        # All batch sizes in every draw: where it is not clear which is best, the interval shows it.
        logs = {p: log_steps[:, p] + _log_seconds(costs[p], errors) for p in able}
        columns.append(np.min(np.column_stack(list(logs.values())), axis=1))
        seconds = replace(typical[best], values=logs[best]).estimate(
            steps[best] * costs[best].seconds, n=cells[best].cell.n
        )
        batch_size = cells[best].cell.batch_size
        points.append(
            Point(
                sparsity=sparsity,
                workers=count,
                batch_size=batch_size,
                slice_size=math.ceil(batch_size / count),
                steps=float(steps[best]),
                step=costs[best],
                seconds=seconds,
                worker_seconds=seconds.scaled(float(count)),
            )
        )
    return Line(sparsity, tuple(points), np.column_stack(columns)) if points else None


def _log_seconds(step: Step, errors: Floats) -> Floats:
    """Log seconds of a step in each draw of the model's errors."""
    found: Floats = np.log(step.compute * np.exp(errors[:, 0]) + step.exchange * np.exp(errors[:, 1]))
    return found
