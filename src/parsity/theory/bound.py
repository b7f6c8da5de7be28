"""How many steps the analysis of convergence asks for: Eq. 2 of the paper, Prop. 4.1, and its constants.

`docs/theory.md` derives every line; the numbers in brackets are those of its equations. All of it is about generalised
SGD, w <- w - eta g, and about training convergence: epsilon is the goal for the average of |grad f(w_k)|^2 over the
steps taken, in expectation. The bounds hold for learning rates up to `rate_limit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """The constants of the analysis, as in Bottou, Curtis & Nocedal (2018), sections 4.1 and 4.3.

    ``lipschitz``: L, that of the gradient of f. ``delta``: Delta = 2 (f(w_1) - f_inf). ``beta``: the variance of one
    image's gradient is at most beta, that of a batch's at most beta/B. ``mu``: E[g] has at least mu |grad f|^2 along
    grad f. ``m_g``: E|g|^2 <= beta/B + m_g |grad f|^2. A batch drawn at random has mu = m_g = 1, unless the variance
    grows with the gradient, which adds to m_g.
    """

    lipschitz: float
    delta: float
    beta: float
    mu: float = 1.0
    m_g: float = 1.0

    @property
    def rate_limit(self) -> float:
        """The highest rate the bound allows, mu / (L M_G): up to it a step descends but for the noise (3)."""
        return self.mu / (self.lipschitz * self.m_g)

    def bound(self, learning_rate: float, batch_size: float, steps: float) -> float:
        """The most that the average |grad f|^2 over ``steps`` steps can be (5); Eq. 2 of the paper."""
        return self._floor(learning_rate, batch_size) + self.delta / (self.mu * learning_rate * steps)

    def steps(self, goal: float, learning_rate: float, batch_size: float) -> float:
        """After how many steps the bound is down at ``goal`` (6); infinite where its floor is not below."""
        room = goal - self._floor(learning_rate, batch_size)
        return self.delta / (self.mu * learning_rate * room) if room > 0 else math.inf

    def c1(self, goal: float) -> float:
        """Delta L beta / (mu^2 epsilon^2), whatever the learning rate (7)."""
        return self.delta * self.lipschitz * self.beta / (self.mu * goal) ** 2

    def c2(self, goal: float, learning_rate: float | None = None) -> float:
        """Delta / (mu eta epsilon), by default at the highest rate the bound allows (7)."""
        rate = self.rate_limit if learning_rate is None else learning_rate
        return self.delta / (self.mu * rate * goal)

    def critical_batch(self, goal: float) -> float:
        """c1/c2 at the highest rate, beta / (epsilon M_G): the noise scale where |grad f|^2 = epsilon (8)."""
        return self.c1(goal) / self.c2(goal)

    def best_rate(self, goal: float, batch_size: float) -> float:
        """The learning rate that asks for the fewest steps: it grows as B, up to the limit (9)."""
        return min(self.rate_limit, self.mu * goal * batch_size / (2 * self.lipschitz * self.beta))

    def fewest_steps(self, goal: float, batch_size: float) -> float:
        """Steps at the best rate: 4 c1/B up to twice the critical batch, then falling to c2 (10)."""
        return self.steps(goal, self.best_rate(goal, batch_size), batch_size)

    def _floor(self, learning_rate: float, batch_size: float) -> float:
        return learning_rate * self.lipschitz * self.beta / (self.mu * batch_size)


@dataclass(frozen=True)
class Decay:
    """A schedule s that starts at 1 and is stretched over the whole run, by its means over the run (12).

    In the constants of Prop. 4.1 a decaying rate multiplies c1 by ``mean_square / mean^2`` and c2 by ``1 / mean``; the
    average of |grad f|^2 that is bounded weighs each step by its rate.
    """

    mean: float
    mean_square: float

    @classmethod
    def linear(cls, end_factor: float) -> Decay:
        """From 1 to ``end_factor`` in a straight line."""
        return cls((1 + end_factor) / 2, (1 + end_factor + end_factor**2) / 3)

    @property
    def of_c1(self) -> float:
        """By what c1 is multiplied: at least 1."""
        return self.mean_square / self.mean**2

    @property
    def of_c2(self) -> float:
        """By what c2 is multiplied, eta being the first step's rate."""
        return 1 / self.mean


def steps_of_schedule(constants: Assumptions, goal: float, rates: Iterable[float], batch_size: float) -> int | None:
    """The first step at which the bound for ``rates``, any sequence within the limit, is down at ``goal`` (11).

    The average of |grad f|^2 weighs each step by its rate. None where the sequence ends before that.
    """
    noise = constants.lipschitz * constants.beta / batch_size
    total = squares = 0.0
    for step, rate in enumerate(rates, start=1):
        total += rate
        squares += rate**2
        if constants.delta + noise * squares <= constants.mu * goal * total:
            return step
    return None


def predicted_ratio(sparse: Assumptions, dense: Assumptions) -> float:
    """c1 of a sparse network over that of the dense one, at one goal: the ratios of Delta, beta and L multiplied."""
    return sparse.c1(1.0) / dense.c1(1.0)
