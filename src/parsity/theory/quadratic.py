"""A noisy quadratic, on which everything the analysis of convergence speaks of is known exactly.

f(w) = 1/2 sum_j h_j w_j^2, and one image's gradient is that of f plus noise of mean zero and variance c_j in
coordinate j, wherever it is taken. So L = max h, beta = sum c, mu = M_G = 1, and the expectation of |grad f|^2 after
any number of steps has a closed form (13): what a measured K* is held against, and what the bound is above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsity.theory.bound import Assumptions

Floats = NDArray[np.float64]
MOST_STEPS = 2**24


@dataclass(frozen=True, kw_only=True)
class NoisyQuadratic:
    """Curvatures h_j > 0, the first weights w_1j, and the variances c_j of one image's gradient."""

    curvatures: tuple[float, ...]
    start: tuple[float, ...]
    variances: tuple[float, ...]

    @property
    def assumptions(self) -> Assumptions:
        """The constants of the analysis, exactly."""
        h, w = np.array(self.curvatures), np.array(self.start)
        return Assumptions(lipschitz=max(self.curvatures), delta=float(h @ w**2), beta=sum(self.variances))

    def gradient_square(self, learning_rate: float, batch_size: float, step: int) -> float:
        """E |grad f(w)|^2 after ``step`` updates of sgd with a fixed rate (13)."""
        h, w, c = (np.array(part) for part in (self.curvatures, self.start, self.variances))
        with np.errstate(over="ignore"):
            log_kept = step * np.log(np.maximum((1 - learning_rate * h) ** 2, 1e-300))
            # (1 - a^k) / (1 - a) with 1 - a = eta h (2 - eta h), exact for small rates; k where a = 1.
            lost = learning_rate * h * (2 - learning_rate * h)
            series = np.where(lost == 0, float(step), -np.expm1(log_kept) / np.where(lost == 0, 1.0, lost))
            found = h**2 * (np.exp(log_kept) * w**2 + learning_rate**2 * c / batch_size * series)
        return float(found.sum())

    def steps(self, goal: float, learning_rate: float, batch_size: float) -> int | None:
        """The first step at which E |grad f|^2 is at or below ``goal``; None where it is not within 2^24 steps.

        Found by doubling and halving, which takes it that the goal, once reached, is not lost again.
        """
        low, high = 0, 1
        while self.gradient_square(learning_rate, batch_size, high) > goal:
            low, high = high, 2 * high
            if high > MOST_STEPS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            reached = self.gradient_square(learning_rate, batch_size, middle) <= goal
            low, high = (low, middle) if reached else (middle, high)
        return high

    def best(self, goal: float, batch_size: float, *, rates: Floats | None = None) -> tuple[int, float] | None:
        """The fewest steps that a fixed rate takes in expectation, and that rate, among ``rates``."""
        tried = np.geomspace(1e-4, 2, 200) / max(self.curvatures) if rates is None else rates
        found = [(steps, rate) for rate in map(float, tried) if (steps := self.steps(goal, rate, batch_size))]
        return min(found, default=None)
