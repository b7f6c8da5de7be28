"""Seconds-to-result: K* times what a training step takes here, and where a sparse network overtakes the dense one.

Each trial's median over its calls of the engine says what a step of the cell takes, goal tests apart; a cell's pace is
the median over its trials. Its 95 % interval is that of order statistics (the number of trials below a median is
binomial with p = 1/2), so it closes with six trials. It covers how much the trials differ, on the machine and in the
company they were measured in: another machine has other seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from parsity.analysis.curve import CurveCell, curves
from parsity.analysis.estimate import TAIL, Draws, Estimate, combined
from parsity.analysis.measured import MeasuredStudy
from parsity.analysis.resampling import DRAWS, CellDraws, CurveDraws, Resampling, draw

FEWEST = math.ceil(math.log2(1 / TAIL))
"""Trials whose step times bound their median on both sides: 2^-n <= 2.5 %."""

Verdict = Literal["faster", "slower", "unsettled"]


@dataclass(frozen=True, kw_only=True)
class CellSeconds:
    """One cell: ``seconds`` = ``steps`` x ``step_seconds``, by ``engine``."""

    batch_size: int
    sparsity: float
    engine: str
    steps: Estimate
    step_seconds: Estimate
    seconds: Estimate
    ratio: Estimate | None
    """Its seconds over those of the least sparse network at this batch size; None for that network itself."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether it is there before the least sparse network, by the whole interval of the ratio."""
        if self.ratio is None:
            return None
        return "faster" if self.ratio.below(1) else "slower" if self.ratio.above(1) else "unsettled"


@dataclass(frozen=True, kw_only=True)
class SecondsToResult:
    """All cells for one goal, by batch size and sparsity; those without a K* or without step times are left out."""

    goal: float
    against: float
    cells: tuple[CellSeconds, ...]

    @property
    def sparsities(self) -> tuple[float, ...]:
        """Those held against ``against``."""
        return tuple(sorted({cell.sparsity for cell in self.cells if cell.ratio is not None}))

    def batch_sizes(self, sparsity: float, verdict: Verdict) -> tuple[int, ...]:
        """Where a network of ``sparsity`` is faster, or slower, or where that cannot be said."""
        return tuple(c.batch_size for c in self.cells if c.sparsity == sparsity and c.verdict == verdict)

    def words(self, sparsity: float) -> str:
        """Where a network of ``sparsity`` overtakes the least sparse one, where it does not, where that is open."""
        base = f"sparsity {self.against:g}" if self.against else "dense"
        clauses = {
            "faster": f"overtakes {base} at batch size",
            "slower": f"is slower than {base} at",
            "unsettled": f"cannot be told from {base} at",
        }
        told = [
            f"{clause} {', '.join(f'{size:,}' for size in sizes)}"
            for verdict, clause in clauses.items()
            if (sizes := self.batch_sizes(sparsity, cast("Verdict", verdict)))
        ]
        return f"sparsity {sparsity:g} " + "; ".join(told)


def seconds_of(study: MeasuredStudy, *, draws: int = DRAWS, seed: int = 0) -> tuple[SecondsToResult, ...]:
    """Seconds-to-result of a study, without the rest of its analysis."""
    found = curves(study.cells, study.name)
    resampling = Resampling(found, draws=draws, seed=seed)
    return seconds_to_result(study, [draw(curve, resampling) for curve in found], seed=seed)


def seconds_to_result(
    study: MeasuredStudy, drawn: Sequence[CurveDraws], *, seed: int = 0
) -> tuple[SecondsToResult, ...]:
    """Seconds-to-result for each goal, from curves that are drawn already; none where nobody timed a step."""
    engines = {(cell.batch_size, cell.sparsity): cell.engine for cell in study.cells}
    found = []
    for goal in sorted({one.curve.goal for one in drawn}):
        of_goal = [one for one in drawn if one.curve.goal == goal]
        timed = {
            (cell.cell.batch_size, cell.cell.sparsity): (cell, *timing)
            for one in of_goal
            for cell in one.cells
            if cell is not None and (timing := _pace(cell, seed)) is not None
        }
        if not timed:
            continue
        against = min(one.curve.sparsity for one in of_goal)
        spent = {key: _seconds(cell, pace, value) for key, (cell, pace, value) in timed.items()}
        cells = []
        for key in sorted(timed):
            (cell, pace, value), (draws, seconds) = timed[key], spent[key]
            base = spent.get((key[0], against)) if key[1] > against else None
            cells.append(
                CellSeconds(
                    batch_size=key[0],
                    sparsity=key[1],
                    engine=engines[key],
                    steps=cell.steps(float(cell.cell.complete[0].step)),
                    step_seconds=pace.estimate(value, n=len(_times(cell.cell))),
                    seconds=draws.estimate(seconds, n=cell.cell.n),
                    ratio=None if base is None else draws.minus(base[0]).estimate(seconds / base[1], n=cell.cell.n),
                )
            )
        found.append(SecondsToResult(goal=goal, against=against, cells=tuple(cells)))
    return tuple(found)


def _times(cell: CurveCell) -> list[float]:
    return sorted(trial.step_seconds for trial in cell.trials if trial.step_seconds is not None)


def _pace(cell: CellDraws, seed: int) -> tuple[Draws, float] | None:
    """Log of the median step time in each draw, and the median itself."""
    times = _times(cell.cell)
    if not times:
        return None
    count, draws = len(times), len(cell.x)
    logs = np.log(times)
    key = [seed, cell.cell.batch_size, round(cell.cell.sparsity * 1e9), count]
    gaps = np.random.default_rng(key).exponential(size=(draws, count + 1))
    # The heights of the order statistics in the true distribution (see `resampling`), and its median between them.
    heights = np.cumsum(gaps[:, :-1], axis=1) / gaps.sum(axis=1, keepdims=True)
    values = np.array([np.interp(0.5, row, logs) for row in heights])
    few = count < FEWEST
    why = f"step times of {count} trials: an interval takes {FEWEST}" if few else ""
    return Draws(values, few, few, why), float(np.median(times))


def _seconds(cell: CellDraws, pace: Draws, value: float) -> tuple[Draws, float]:
    steps = cell.typical()
    product = combined(steps.values + pace.values, [(steps, 1.0), (pace, 1.0)])
    return product, cell.cell.complete[0].step * value
