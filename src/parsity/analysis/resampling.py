"""Another search of the same size: what its minima might have been.

K* is the minimum over N trials. Its natural meaning is the *typical best of N*: the median of what searches of N
trials find, which is the quantile of a trial's steps at p = 1 - 2^(-1/N). Drawing trials with replacement cannot show
its uncertainty: such a draw holds the best trial with probability 0.63 and is never below it. Instead, for trials in
order x_1 <= x_2 <= ..., the heights W_j = F(x_j) of their true distribution are known in law whatever it is: they are
the order statistics of N uniform numbers. Each draw searches anew, takes such numbers for the heights, and reads the
quantile at p off between the points (log W_j, log x_j). So

    P(quantile > x_j) = P(W_j < p) = P(Binomial(N, p) >= j)

holds exactly, ties aside, and the median of the draws is the measured minimum itself. Below x_1, where half of all
draws fall, the lower tail F(x) = C x^a is continued; 1/a is Hill's, with its own uncertainty drawn by the pivot

    1/a = sum_j log(x_k / x_j) / sum_j log(W_k / W_j),    j < k = max(4, sqrt N),

summed over the cells of a curve. Where the tail is thinner than a power law that errs towards wide intervals: with a
floor below which no trial comes, but with lognormal luck too (95 % intervals of a fit cover 96 to 99 %; with a power
law 92 to 97 %; `docs/analysis.md`).

Cells are drawn together: another search would give trial i the luck z_ij = sqrt(r) a_i + sqrt(1 - r) e_ij in cell j,
and its uniform number there is Phi(z_ij). How much luck is shared, r, is told by the ranks of a study's trials
(`parsity.analysis.luck`). What cells share cancels in their ratio and does not average out in a fit. r leaves what is
drawn in one cell as it is in law; a study's cells of a goal decide it together, and with it what exactly is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtrc, log_ndtr

from parsity.analysis.curve import Curve, CurveCell
from parsity.analysis.estimate import TAIL, Draws, Estimate, Floats
from parsity.analysis.luck import shared_luck

DRAWS = 1000


class Resampling:
    """The luck of a study's trials in each draw."""

    def __init__(self, curves: Iterable[Curve], *, draws: int = DRAWS, seed: int = 0) -> None:
        self.draws = draws
        self.seed = seed
        goals: dict[float, list[CurveCell]] = {}
        for curve in curves:
            goals.setdefault(curve.goal, []).extend(curve.cells)
        self.shared = {goal: shared_luck(cells) for goal, cells in goals.items()}
        numbers = sorted({number for cells in goals.values() for cell in cells for number in cell.numbers})
        self._column = {number: column for column, number in enumerate(numbers)}
        self._common = np.random.default_rng([seed, len(numbers)]).standard_normal((draws, len(numbers)))

    def heights(self, cell: CurveCell) -> tuple[Floats, Floats]:
        """Log x_j and log W_j of the cell's complete trials in each draw, x spread over (last_miss, step]."""
        steps = np.array([point.step for point in cell.complete], dtype=float)
        misses = np.array([point.last_miss for point in cell.complete], dtype=float)
        key = [self.seed, cell.batch_size, round(cell.sparsity * 1e9)]
        # The whole steps last_miss + 1 .. step, each as the unit interval about it.
        spread = np.random.default_rng([*key, round(cell.goal * 1e9)]).random((self.draws, len(steps)))
        x = np.sort(np.log(misses + 0.5 + (steps - misses) * spread), axis=1)
        # All goals of a cell have the same luck.
        own = np.random.default_rng(key).standard_normal((self.draws, cell.n))
        shared = self.shared[cell.goal]
        common = self._common[:, [self._column[number] for number in cell.numbers]]
        luck = np.sort(math.sqrt(shared) * common + math.sqrt(1 - shared) * own, axis=1)
        return x, log_ndtr(luck[:, : len(steps)])


def chance(n: int) -> float:
    """P = 1 - 2^(-1/n): the share of all trials that is better than the typical best of n."""
    return -math.expm1(-math.log(2) / n)


def rank_needed(n: int) -> int:
    """How many trials must be complete for the upper side: the least j with P(Binomial(n, p) >= j) <= 2.5 %."""
    p = chance(n)
    return next((j for j in range(1, n + 1) if bdtrc(j - 1, n, p) <= TAIL), n + 1)


def tail_trials(n: int, complete: int) -> int:
    """How many of the best trials tell the shape of the lower tail."""
    return min(complete, max(4, math.ceil(math.sqrt(n))))


@dataclass(frozen=True, eq=False)
class CellDraws:
    """The resampled cell: whatever n, the typical best of n trials in each draw."""

    cell: CurveCell
    x: Floats
    heights: Floats
    slope: Floats | None
    """1/a in each draw; None where too few trials are complete to tell."""
    closing_patience: float | None

    def typical(self, n: int | None = None) -> Draws:
        """Log of the typical best of ``n`` trials, by default of as many as the cell has."""
        n = self.cell.n if n is None else n
        known = len(self.cell.complete)
        if self.slope is None:
            nothing = np.full(len(self.x), math.nan)
            return Draws(nothing, True, True, self._why(), self.closing_patience)
        p = math.log(chance(n))
        below = (self.heights < p).sum(axis=1)
        rows = np.arange(len(self.x))
        if known > 1:
            left = np.clip(below, 1, known - 1) - 1
            x0, x1 = self.x[rows, left], self.x[rows, left + 1]
            w0, w1 = self.heights[rows, left], self.heights[rows, left + 1]
            values = x0 + (x1 - x0) * (p - w0) / np.maximum(w1 - w0, 1e-300)
        else:
            values = self.x[:, 0].copy()
        for outside, end in ((below == 0, 0), (below == known, -1)):
            values[outside] = (self.x[:, end] + self.slope * (p - self.heights[:, end]))[outside]
        open_high = bool(bdtrc(known - 1, self.cell.n, chance(n)) > TAIL)
        return Draws(values, False, open_high, self._why() if open_high else "", self.closing_patience)

    def steps(self, value: float | None, n: int | None = None) -> Estimate:
        """The same in steps, as a race finds them: the upper side is rounded up to a whole check interval."""
        found = self.typical(n).estimate(value, n=self.cell.n)
        if found.high is None or self.cell.best is None:
            return found
        interval = self.cell.best.step - self.cell.best.last_miss
        return replace(found, high=math.ceil(found.high / interval - 1e-9) * float(interval))

    def _why(self) -> str:
        cell, known, needed = self.cell, len(self.cell.complete), rank_needed(self.cell.n)
        count = f"{known} of {cell.n} trials complete"
        if needed > cell.n:
            return f"{count}: an interval takes more trials"
        if cell.outpaced:
            return f"{count} within patience {cell.patience:g}, and an interval takes {needed}"
        return f"{count}, and an interval takes {needed}: more trials, or a higher step limit, would close it"


@dataclass(frozen=True, eq=False)
class CurveDraws:
    """A curve and its cells' draws; cells without a complete trial have none."""

    curve: Curve
    cells: tuple[CellDraws | None, ...]
    tail: float | None
    """1/a, the tail's reach: doubling the trials multiplies K* by 2^(-1/a)."""
    slope: Floats | None


def draw(curve: Curve, resampling: Resampling) -> CurveDraws:
    """Resample ``curve``."""
    seen = [resampling.heights(cell) if cell.complete else None for cell in curve.cells]
    excess = np.zeros(resampling.draws)
    expected = np.zeros(resampling.draws)
    middle, spacings = 0.0, 0
    for cell, found in zip(curve.cells, seen, strict=True):
        if found is None:
            continue
        x, heights = found
        k = tail_trials(cell.n, len(cell.complete)) - 1
        excess += (x[:, k : k + 1] - x[:, :k]).sum(axis=1)
        expected += (heights[:, k : k + 1] - heights[:, :k]).sum(axis=1)
        logs = np.log([point.middle for point in cell.complete[: k + 1]])
        middle += float((logs[-1] - logs[:-1]).sum())
        spacings += k
    slope = excess / expected if spacings >= 3 else None
    tail = middle / spacings if spacings else None
    cells = tuple(
        CellDraws(cell, *found, slope, closing_patience(cell, tail)) if found is not None else None
        for cell, found in zip(curve.cells, seen, strict=True)
    )
    return CurveDraws(curve, cells, tail if spacings >= 3 else None, slope)


def closing_patience(cell: CurveCell, tail: float | None) -> float | None:
    """The patience at which enough trials should be complete to bound K* above, rounded up to halves.

    The j-th best needs about exp(tail x (1 + 1/2 + ... + 1/(j-1))) x K* steps. It is a guess to try; where no
    second trial tells the tail, twice the patience. None where patience is not what is missing.
    """
    needed = rank_needed(cell.n)
    if not cell.outpaced or needed > cell.n or len(cell.complete) >= needed:
        return None
    if not tail:
        return 2 * cell.patience
    guess = math.exp(tail * sum(1 / j for j in range(1, needed)))
    return max(math.ceil(2 * guess) / 2, cell.patience + 0.5)
