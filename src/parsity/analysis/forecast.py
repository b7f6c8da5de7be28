"""Forecasting the curve of a sparsity from that of another, a few cells of its own, and the theory's constants.

The least sparse curve is K0(B) = ((c1/B)^s + c2^s)^(1/s), as fitted. Of the curve to be told, two numbers are unknown,

    K(B) = ((rho1 c1/B)^s + (rho2 c2)^s)^(1/s),        x1 = log rho1, x2 = log rho2,

and what is believed of them before a cell is seen is Student's t on either of (x1 + x2)/2 and x2 - x1: `USUAL` and 0,
give or take `LOOSE` and `BEND`, which is about what the paper and others found. The theory (Prop. 4.1) speaks of them
too: rho1 = (Delta ratio)(beta ratio)(L ratio) and, as the highest rate goes as 1/L, rho2 = (Delta ratio)(L ratio).
How far it is to be believed is not in the theory: `TRUST` is about how far the paper's prediction is from its own
measurement (1.67 against 1.5 to 4.5). Nor is beta a constant: at the start pruned networks have small gradients and a
small beta, later as large a one as others, or larger. So its ratio is the geometric mean over all steps at which it
was sampled, less believed the more these scatter; sampled at the start alone, it may be as far off as it is from 1.

A measured log K is off its curve by noise of unknown variance sigma^2, of which the scatter of the known curve about
its fit tells, with a little of `SCATTER` so that few cells cannot feign certainty. The error of that fit is shared by
all cells: G of it per cell. Given x, all else has closed form (the conjugate inverse-chi-square): cells y with
covariance sigma^2 (1 + G G'), a forecast that is Student's t. Over x it is summed on a grid: no draws, no seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from parsity.analysis.curve import Curve, CurveCell
from parsity.analysis.estimate import TAIL, Estimate, Floats
from parsity.analysis.fitting import Fits, fit, fit_knee
from parsity.analysis.smooth import PredictedRatio

TRUST = math.log(2)
"""How far, in logarithms, rho1 and rho2 together are off what the theory says."""
USUAL, LOOSE = math.log(2), math.log(3)
"""What is believed of them where there are no constants: a factor of 2, give or take one of 3."""
BEND = math.log(1.8)
"""How far x2 - x1 is off what is expected of it."""
FREEDOM = 5
"""Of the Student's t in which all this is believed: truths far off are allowed for."""
SCATTER, SCATTER_FREEDOM = 0.12, 3
"""The usual scatter of log K*, and how many cells' worth it weighs."""
REACH, GRID, ROUNDS, FAINT = 8.0, 41, 4, 1e-4
"""The grid: so many scales to either side of the centre, in so many points, looked at more closely so many times;
what weighs less than a faint share of the heaviest is left out."""


@dataclass(frozen=True, kw_only=True)
class ForecastPoint:
    """One cell: ``steps`` with the interval within which a search of the same size should find its K*.

    ``used`` where the forecast was made from this cell; ``truth`` is what is stored of it otherwise, and ``off`` how
    many times the forecast that is.
    """

    batch_size: int
    steps: Estimate
    used: int | None = None
    truth: int | None = None
    off: float | None = None
    within: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The curve of ``sparsity``, told from that of ``against``."""

    goal: float
    sparsity: float
    against: float
    c1_ratio: Estimate
    c2_ratio: Estimate
    points: tuple[ForecastPoint, ...]
    constants: PredictedRatio | None
    scatter: float
    """Sigma: by how much log K* of a cell is off its curve."""

    @property
    def used(self) -> tuple[int, ...]:
        """The batch sizes of the cells it was made from."""
        return tuple(point.batch_size for point in self.points if point.used is not None)

    @property
    def checked(self) -> tuple[ForecastPoint, ...]:
        """The points whose truth is stored."""
        return tuple(point for point in self.points if point.truth is not None)

    @property
    def typically_off(self) -> float | None:
        """The root mean square of log2(truth / forecast), in octaves."""
        logs = [math.log2(point.off) for point in self.checked if point.off]
        return math.sqrt(sum(one * one for one in logs) / len(logs)) if logs else None


def forecast(
    known: Curve,
    sparsity: float,
    *,
    cells: Sequence[CurveCell] = (),
    constants: PredictedRatio | None = None,
    batch_sizes: Sequence[int] | None = None,
    truths: Sequence[CurveCell] = (),
) -> Forecast | None:
    """Forecast ``sparsity`` at ``batch_sizes`` (by default those of ``known``); None where ``known`` cannot be fitted.

    ``cells`` and ``truths`` are measured cells of that sparsity, to learn from and to hold the forecast against.
    """
    base = [cell for cell in known.cells if cell.complete]
    if len(base) < 3:
        return None
    learnt = {cell.batch_size: cell for cell in cells if cell.complete}
    held = {cell.batch_size: cell for cell in truths if cell.complete and cell.batch_size not in learnt}
    asked = known.batch_sizes if batch_sizes is None else batch_sizes
    sizes = sorted({*asked, *learnt, *held})
    curve = _Known(np.array([cell.batch_size for cell in base], float), _log_steps(base), np.array(sizes, float))
    seen = np.array([sizes.index(size) for size in sorted(learnt)], int)
    told = _Told(curve, _belief(constants), seen, _log_steps([learnt[size] for size in sorted(learnt)]))
    points = []
    for place, size in enumerate(sizes):
        steps = told.steps(place)
        truth = held[size].complete[0] if size in held else None
        points.append(
            ForecastPoint(
                batch_size=size,
                steps=steps,
                used=learnt[size].complete[0].step if size in learnt else None,
                truth=truth.step if truth else None,
                off=truth.middle / steps.value if truth and steps.value else None,
                # Any step since the last miss may be where the goal was met.
                within=truth.step >= steps.low and truth.last_miss < steps.high
                if truth and steps.low is not None and steps.high is not None
                else None,
            )
        )
    return Forecast(
        goal=known.goal,
        sparsity=sparsity,
        against=known.sparsity,
        c1_ratio=told.ratio(0),
        c2_ratio=told.ratio(1),
        points=tuple(points),
        constants=constants,
        scatter=told.scatter,
    )


def _log_steps(cells: Sequence[CurveCell]) -> Floats:
    return np.log([cell.complete[0].middle for cell in cells])


class _Known:
    """The fitted curve, at the batch sizes asked for: its fit, how its error is shared, and what scatter it shows."""

    def __init__(self, batches: Floats, log_steps: Floats, sizes: Floats) -> None:
        self.sizes = sizes
        fitted = fit_knee if len(batches) > 4 else fit
        parameters = 3 if fitted is fit_knee else 2
        self.fits: Fits = fitted(batches, log_steps)
        nudge = 0.05
        up, down = (fitted(batches, log_steps + sign * nudge * np.eye(len(batches))) for sign in (1, -1))
        shared = ((up.log_steps(sizes) - down.log_steps(sizes)) / (2 * nudge)).T
        self.covariance = np.eye(len(sizes)) + shared @ shared.T
        freedom = max(len(batches) - parameters, 0)
        self.freedom = freedom + SCATTER_FREEDOM
        self.squares = float(self.fits.squares[0]) + SCATTER_FREEDOM * SCATTER**2

    def log_steps(self, x1: Floats, x2: Floats) -> Floats:
        """Log K at each size, one row per (x1, x2)."""
        s = float(self.fits.sharpness[0])
        linear = s * (self.fits.log_c1[0] + x1[:, None] - np.log(self.sizes))
        flat = s * (self.fits.log_c2[0] + x2[:, None])
        found: Floats = np.logaddexp(linear, flat) / s
        return found


@dataclass(frozen=True)
class _Belief:
    """What is believed of (x1 + x2)/2 and x2 - x1 before a cell is seen: centres and scales of Student's t."""

    level: float
    level_scale: float
    bend: float
    bend_scale: float


def _belief(constants: PredictedRatio | None) -> _Belief:
    lipschitz = constants.lipschitz if constants is not None else None
    if constants is None or lipschitz is None or (ratio := lipschitz.value) is None:
        return _Belief(USUAL, LOOSE, 0.0, BEND)
    if lipschitz.low is not None and lipschitz.high is not None:
        known_to = math.log(lipschitz.high / lipschitz.low) / (2 * float(stdtrit(math.inf, 1 - TAIL)))
    else:
        known_to = TRUST
    betas = [math.log(ratio) for ratio in constants.betas.values()] or [math.log(constants.beta)]
    beta = fmean(betas)
    # Of one point it is not known what the ratio does along training, and it may well go away.
    unsteady = stdev(betas) / math.sqrt(len(betas)) if len(betas) > 1 else max(abs(beta), TRUST)
    said = math.log(constants.delta * ratio) + beta / 2
    level, level_scale = _both(USUAL, LOOSE, said, math.hypot(TRUST, known_to, unsteady / 2))
    bend, bend_scale = _both(0.0, BEND, -beta, math.hypot(TRUST, unsteady))
    return _Belief(level, level_scale, bend, bend_scale)


def _both(one: float, scale: float, other: float, other_scale: float) -> tuple[float, float]:
    """Two independent statements about one number, each weighed by its precision."""
    share = other_scale**2 / (scale**2 + other_scale**2)
    return one * share + other * (1 - share), scale * math.sqrt(share)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Points x, one column each: their weight, the sigma they leave, and log K of every cell given x and the cells."""

    x: Floats
    weight: Floats
    sigma: Floats
    means: Floats


class _Told:
    """What is known of x and of each cell once the cells ``seen`` have been."""

    def __init__(self, known: _Known, belief: _Belief, seen: NDArray[np.int_], log_steps: Floats) -> None:
        self._known, self._belief, self._seen, self._log_steps = known, belief, seen, log_steps
        self.n = len(seen)
        self.freedom = known.freedom + self.n
        inner = np.linalg.inv(known.covariance[np.ix_(seen, seen)])
        beside = known.covariance[:, seen]
        self._inner, self._gain = inner, inner @ beside.T
        left = np.diag(known.covariance) - np.einsum("bi,ij,bj->b", beside, inner, beside)
        self._reach = np.sqrt(np.maximum(left, 1e-12))
        # Once over all that is believed, then where it matters, along its axes: cells can narrow it to a ridge or spot.
        axes, ends = np.eye(2), np.array([[-REACH, REACH], [-REACH, REACH]])
        for _ in range(ROUNDS):
            lines = [np.linspace(low, high, GRID) for low, high in ends]
            places = axes @ np.stack([part.ravel() for part in np.meshgrid(*lines)])
            found = self._weighed(*places)
            some = found.weight > FAINT * found.weight.max()
            apart = axes * (ends[:, 1] - ends[:, 0]) / (GRID - 1)
            axes = np.linalg.eigh(np.cov(places, aweights=found.weight))[1]
            along, margin = axes.T @ places[:, some], np.abs(axes.T @ apart).sum(axis=1)
            ends = np.stack([along.min(axis=1) - margin, along.max(axis=1) + margin], axis=1)
        weight = found.weight[some] / found.weight[some].sum()
        self._all = _Weighed(found.x[:, some], weight, found.sigma[some], found.means[some])
        self.scatter = float(weight @ self._all.sigma)

    def _weighed(self, level: Floats, bend: Floats) -> _Weighed:
        """How much each point of a grid, in scales of what is believed, agrees with the cells."""
        log_weight = -(FREEDOM + 1) / 2 * (np.log1p(level**2 / FREEDOM) + np.log1p(bend**2 / FREEDOM))
        belief = self._belief
        level, bend = belief.level + belief.level_scale * level, belief.bend + belief.bend_scale * bend
        x = np.stack([level - bend / 2, level + bend / 2])
        means = self._known.log_steps(*x)
        rest = self._log_steps - means[:, self._seen]
        squares = self._known.squares + np.einsum("gi,ij,gj->g", rest, self._inner, rest)
        # The likelihood of the cells, sigma integrated out; without cells it is the same everywhere.
        log_weight -= self.freedom / 2 * np.log(squares / self._known.squares)
        weight = np.exp(log_weight - log_weight.max())
        return _Weighed(x, weight, np.sqrt(squares / self.freedom), means + rest @ self._gain)

    def steps(self, place: int) -> Estimate:
        """K of a cell."""
        low, value, high = (math.exp(self._quantile(place, p)) for p in (TAIL, 0.5, 1 - TAIL))
        return Estimate(value=value, low=low, high=high, n=self.n)

    def ratio(self, which: int) -> Estimate:
        """Rho1 or rho2."""
        order = np.argsort(self._all.x[which], kind="stable")
        x, weight = self._all.x[which][order], self._all.weight[order]
        heights = np.cumsum(weight) - weight / 2
        low, value, high = (math.exp(float(np.interp(p, heights, x))) for p in (TAIL, 0.5, 1 - TAIL))
        return Estimate(value=value, low=low, high=high, n=self.n)

    def _quantile(self, place: int, p: float) -> float:
        """Of the mixture over x of Student's t, by halving."""
        means, reach = self._all.means[:, place], self._reach[place] * self._all.sigma
        each = means + reach * float(stdtrit(self.freedom, p))
        low, high = float(each.min()), float(each.max())
        while high - low > 1e-4:
            middle = (low + high) / 2
            below = float(self._all.weight @ stdtr(self.freedom, (middle - means) / reach))
            low, high = (middle, high) if below < p else (low, middle)
        return (low + high) / 2
