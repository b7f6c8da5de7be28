"""Schedules: by what factor the learning rate is multiplied at each step, counted from 0.

A schedule is built from a trial's metaparameters and is a pure function of the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

SCHEDULES = {
    "constant": "parsity.optimisation:Constant",
    "linear": "parsity.optimisation:Linear",
    "cosine": "parsity.optimisation:Cosine",
    "step": "parsity.optimisation:Step",
    "warm-up": "parsity.optimisation:WarmUp",
}


class Schedule(Protocol):
    """What a schedule of one's own must offer; its constructor's keywords are its metaparameters."""

    def __call__(self, step: int) -> float:
        """The factor of the learning rate at ``step``."""


@dataclass(frozen=True, kw_only=True)
class Constant:
    """1, always."""

    def __call__(self, step: int) -> float:
        """The factor of the learning rate at ``step``."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Linear:
    """From 1 to the end factor in a straight line over ``decay_steps`` steps, then flat."""

    decay_steps: int
    end_learning_rate_factor: float

    def __call__(self, step: int) -> float:
        """The factor of the learning rate at ``step``."""
        return 1 - (1 - self.end_learning_rate_factor) * min(step / self.decay_steps, 1.0)


@dataclass(frozen=True, kw_only=True)
class Cosine:
    """From 1 to the end factor along half a cosine over ``decay_steps`` steps, then flat."""

    decay_steps: int
    end_learning_rate_factor: float = 0.0

    def __call__(self, step: int) -> float:
        """The factor of the learning rate at ``step``."""
        risen = (1 + math.cos(math.pi * min(step / self.decay_steps, 1.0))) / 2
        return self.end_learning_rate_factor + (1 - self.end_learning_rate_factor) * risen


@dataclass(frozen=True, kw_only=True)
class Step:
    """Multiplied by ``drop_factor`` once every ``drop_interval`` steps."""

    drop_interval: int
    drop_factor: float

    def __call__(self, step: int) -> float:
        """The factor of the learning rate at ``step``."""
        return self.drop_factor ** (step // self.drop_interval)


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """Rising in a straight line over ``warm_up_steps`` steps, the first of them not zero, then 1."""

    warm_up_steps: int

    def __call__(self, step: int) -> float:
        """The factor of the learning rate at ``step``."""
        return min((step + 1) / self.warm_up_steps, 1.0)
