"""Least squares on logarithms for K = ((c1/B)^s + c2^s)^(1/s), many data sets at once.

With x = log(c1/c2) - log B it reads log K = log c2 + softplus(s x)/s, so for given s the level log c2 is a mean and
one number is left to search, t = log(c1/c2): over a grid first, so that the minimum is the global one, then by
Gauss-Newton. t far beyond the batch sizes on either side stands for c2 = 0 or c1 = 0: c1, c2 >= 0 by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parsity.analysis.estimate import Floats

BEYOND = 10.0
"""How far beyond the batch sizes, in natural logarithms, c1/c2 is looked for: there the other term is 0.005 %."""
SHARPNESS = np.exp2(np.linspace(-2, 4, 37))


@dataclass(frozen=True, eq=False)
class Fits:
    """One fit per row of the data; infinities where a term is zero."""

    log_c1: Floats
    log_c2: Floats
    log_critical: Floats
    sharpness: Floats
    squares: Floats
    """The sum of squared residuals of log K."""

    def log_steps(self, batch_sizes: Floats) -> Floats:
        """Log K at ``batch_sizes``, one row per fit."""
        s = self.sharpness[:, None]
        linear = s * (self.log_c1[:, None] - np.log(batch_sizes))
        flat = s * self.log_c2[:, None]
        found: Floats = np.logaddexp(linear, flat) / s
        return found

    def slope(self, batch_size: float) -> Floats:
        """-d log K / d log B = 1 / (1 + (B / critical)^s): 1 where scaling is linear, 0 where it has ended."""
        found: Floats = 1 / (1 + np.exp(np.clip(self.sharpness * (np.log(batch_size) - self.log_critical), -700, 700)))
        return found


def fit(batch_sizes: Floats, log_steps: Floats, sharpness: float = 1.0) -> Fits:
    """Fit each row of ``log_steps`` for a given sharpness."""
    rows = np.atleast_2d(log_steps)
    log_b = np.log(batch_sizes)
    y = rows - rows.mean(axis=1, keepdims=True)
    s = np.full(len(rows), sharpness)
    t = _polished(y, _searched(y, log_b, sharpness), log_b, s, rounds=6)
    return _fits(rows, t, log_b, s)


def fit_knee(batch_sizes: Floats, log_steps: Floats) -> Fits:
    """The same with the sharpness fitted too, between 1/4 and 16."""
    rows = np.atleast_2d(log_steps)
    log_b = np.log(batch_sizes)
    y = rows - rows.mean(axis=1, keepdims=True)
    found = []
    for one in SHARPNESS:
        s = np.full(len(rows), one)
        found.append(_polished(y, _searched(y, log_b, one), log_b, s, rounds=2))
    squares = np.stack([_squares(y, t, log_b, np.full(len(y), s)) for t, s in zip(found, SHARPNESS, strict=True)])
    best = squares.argmin(axis=0)
    inner = np.clip(best, 1, len(SHARPNESS) - 2)
    each = np.arange(len(rows))
    before, here, after = (squares[inner + shift, each] for shift in (-1, 0, 1))
    bend = before - 2 * here + after
    shift = np.where((best == inner) & (bend > 0), 0.5 * (before - after) / np.maximum(bend, 1e-300), best - inner)
    width = np.log(SHARPNESS[1] / SHARPNESS[0])
    s = np.exp(np.log(SHARPNESS[inner]) + width * np.clip(shift, -1, 1))
    t = _polished(y, np.stack(found)[best, each], log_b, s, rounds=6)
    return _fits(rows, t, log_b, s)


def influence(batch_sizes: Floats, log_steps: Floats) -> tuple[Floats, Floats, Floats]:
    """How log c1, log c2 and log(c1/c2) of the formula move with each log K: their derivatives, numerically."""
    n = len(batch_sizes)
    up, down = (fit(batch_sizes, log_steps + sign * 0.05 * np.eye(n)) for sign in (1, -1))
    pairs = ((up.log_c1, down.log_c1), (up.log_c2, down.log_c2), (up.log_critical, down.log_critical))
    with np.errstate(invalid="ignore"):
        one, two, three = (np.nan_to_num((high - low) / 0.1) for high, low in pairs)
    return one, two, three


def finite(log: float) -> float | None:
    """exp(log), zero too; None where it is infinite."""
    return float(np.exp(log)) if log < np.inf else None


def _ends(log_b: Floats) -> tuple[float, float]:
    return float(log_b.min()) - BEYOND, float(log_b.max()) + BEYOND


def _searched(y: Floats, log_b: Floats, sharpness: float) -> Floats:
    """The best t of a grid for each row."""
    grid = np.linspace(*_ends(log_b), 300)
    shape = _shape(grid[:, None] - log_b, sharpness)
    shape = shape - shape.mean(axis=1, keepdims=True)
    found: Floats = grid[((shape**2).sum(axis=1) - 2 * y @ shape.T).argmin(axis=1)]
    return found


def _polished(y: Floats, t: Floats, log_b: Floats, s: Floats, *, rounds: int) -> Floats:
    """Gauss-Newton from t, kept where it lowers the squares; what lies at the ends of the grid stays there."""
    low, high = _ends(log_b)
    inside = (t > low) & (t < high)
    squares = _squares(y, t, log_b, s)
    for _ in range(rounds):
        x = s[:, None] * (t[:, None] - log_b)
        shape = np.logaddexp(0, x) / s[:, None]
        steep = 1 / (1 + np.exp(np.clip(-x, -700, 700)))
        steep -= steep.mean(axis=1, keepdims=True)
        residual = y - shape + shape.mean(axis=1, keepdims=True)
        step = (steep * residual).sum(axis=1) / np.maximum((steep**2).sum(axis=1), 1e-300)
        moved = np.where(inside, t + np.clip(step, -0.1, 0.1), t)
        found = _squares(y, moved, log_b, s)
        better = found < squares
        t, squares = np.where(better, moved, t), np.where(better, found, squares)
    return t


def _fits(rows: Floats, t: Floats, log_b: Floats, s: Floats) -> Fits:
    low, high = _ends(log_b)
    rest = rows - _shape(t[:, None] - log_b, s[:, None])
    log_c2 = rest.mean(axis=1)
    squares = ((rest - log_c2[:, None]) ** 2).sum(axis=1)
    log_c1 = np.where(t <= low, -np.inf, log_c2 + t)
    log_c2 = np.where(t >= high, -np.inf, log_c2)
    t = np.where(t <= low, -np.inf, np.where(t >= high, np.inf, t))
    return Fits(log_c1, log_c2, t, s, squares)


def _shape(x: Floats, s: float | Floats) -> Floats:
    found: Floats = np.logaddexp(0, s * x) / s
    return found


def _squares(y: Floats, t: Floats, log_b: Floats, s: Floats) -> Floats:
    shape = _shape(t[:, None] - log_b, s[:, None])
    residual = y - (shape - shape.mean(axis=1, keepdims=True))
    found: Floats = (residual**2).sum(axis=1)
    return found
