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


def fit(batch_sizes: Floats, log_steps: Floats, sharpness: float | Floats = 1.0) -> Fits:
    """Fit each row of ``log_steps``; ``sharpness`` is one for all, or one per row."""
    rows = np.atleast_2d(log_steps)
    log_b = np.log(batch_sizes)
    s = np.broadcast_to(np.asarray(sharpness, dtype=float), (len(rows),))
    grid = np.arange(log_b.min() - BEYOND, log_b.max() + BEYOND, 0.1)
    y = rows - rows.mean(axis=1, keepdims=True)
    best = np.zeros(len(rows), dtype=int)
    for value in np.unique(s):
        chosen = s == value
        shape = _shape(grid[:, None] - log_b, value)
        shape = shape - shape.mean(axis=1, keepdims=True)
        best[chosen] = ((shape**2).sum(axis=1) - 2 * y[chosen] @ shape.T).argmin(axis=1)
    t = grid[best].copy()
    squares = _squares(y, t, log_b, s)
    inside = (best > 0) & (best < len(grid) - 1)
    for _ in range(6):
        x = t[:, None] - log_b
        shape = _shape(x, s[:, None])
        steep = 1 / (1 + np.exp(-s[:, None] * x))
        steep = steep - steep.mean(axis=1, keepdims=True)
        residual = y - (shape - shape.mean(axis=1, keepdims=True))
        step = (steep * residual).sum(axis=1) / np.maximum((steep**2).sum(axis=1), 1e-300)
        moved = np.where(inside, t + np.clip(step, -0.1, 0.1), t)
        found = _squares(y, moved, log_b, s)
        better = found < squares
        t, squares = np.where(better, moved, t), np.where(better, found, squares)
    log_c2 = (rows - _shape(t[:, None] - log_b, s[:, None])).mean(axis=1)
    log_c1 = log_c2 + t
    t = np.where(best == 0, -np.inf, np.where(best == len(grid) - 1, np.inf, t))
    log_c1 = np.where(best == 0, -np.inf, log_c1)
    log_c2 = np.where(best == len(grid) - 1, -np.inf, log_c2)
    return Fits(log_c1, log_c2, t, s.copy(), squares)


def fit_knee(batch_sizes: Floats, log_steps: Floats) -> Fits:
    """The same with the sharpness fitted too, between 1/4 and 16."""
    rows = np.atleast_2d(log_steps)
    squares = np.stack([fit(batch_sizes, rows, value).squares for value in SHARPNESS])
    best = squares.argmin(axis=0)
    inner = np.clip(best, 1, len(SHARPNESS) - 2)
    each = np.arange(len(rows))
    before, here, after = (squares[inner + shift, each] for shift in (-1, 0, 1))
    bend = before - 2 * here + after
    shift = np.where((best == inner) & (bend > 0), 0.5 * (before - after) / np.maximum(bend, 1e-300), best - inner)
    width = np.log(SHARPNESS[1] / SHARPNESS[0])
    return fit(batch_sizes, rows, np.exp(np.log(SHARPNESS[inner]) + width * np.clip(shift, -1, 1)))


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


def _shape(x: Floats, s: float | Floats) -> Floats:
    found: Floats = np.logaddexp(0, s * x) / s
    return found


def _squares(y: Floats, t: Floats, log_b: Floats, s: Floats) -> Floats:
    shape = _shape(t[:, None] - log_b, s[:, None])
    residual = y - (shape - shape.mean(axis=1, keepdims=True))
    found: Floats = (residual**2).sum(axis=1)
    return found
