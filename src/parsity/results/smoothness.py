"""What smoothness along training is, as plain values: the local Lipschitz constant, and the theory's constants."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any


@dataclass(frozen=True, kw_only=True)
class LipschitzPoint:
    """The local Lipschitz constant of the gradient between the weights after ``step`` steps and the next (Eq. 11).

    ``ratios`` has |grad f(w + gamma d) - grad f(w)| / |gamma d| for each gamma; losses and gradients are means over the
    images that were asked for.
    """

    step: int
    ratios: Mapping[float, float]
    distance: float
    """|d|, the length of the training step."""
    gradient_norm: float
    training_loss: float
    training_error: float
    validation_error: float | None = None

    @property
    def lipschitz(self) -> float:
        """The largest of the ratios; not-a-number where training did not move."""
        return max(self.ratios.values(), default=math.nan)


@dataclass(frozen=True, kw_only=True)
class NoisePoint:
    """How much the gradients of single images differ from their mean, after ``step`` steps."""

    step: int
    beta: float
    """The variance of single-image gradients: the mean of |g_i - g|^2."""
    low: float
    high: float
    """A 95 % interval of ``beta``; without width where it was taken over all images."""
    images: int
    of_images: int
    gradient_squared: float
    """|g|^2 over all images."""
    loss: float

    @property
    def exact(self) -> bool:
        """Whether every image's gradient was looked at."""
        return self.images == self.of_images

    @property
    def noise_scale(self) -> float:
        """B_simple = tr(Sigma) / |g|^2: the batch at which noise and gradient are alike (McCandlish et al., 2018)."""
        return self.beta / self.gradient_squared if self.gradient_squared else math.inf


@dataclass(frozen=True, kw_only=True)
class CurvaturePoint:
    """The Hessian of the loss over ``images`` images, after ``step`` steps; surviving weights only."""

    step: int
    top: float
    """The largest eigenvalue, by Lanczos."""
    residual: float
    """|Hv - top v|: some eigenvalue lies this close to ``top``."""
    bottom: float
    """The least eigenvalue found."""
    trace: float
    trace_low: float
    trace_high: float
    """A 95 % interval of ``trace``, by Hutchinson's estimator."""
    iterations: int
    probes: int
    images: int


@dataclass(frozen=True, kw_only=True)
class SmoothnessCurve:
    """All that was measured along the training of one network."""

    sparsity: float
    points: tuple[LipschitzPoint, ...] = ()
    noise: tuple[NoisePoint, ...] = ()
    curvature: tuple[CurvaturePoint, ...] = ()
    infeasible: int | None = None
    """The step at which training stopped being finite, if it did."""

    @property
    def mean_lipschitz(self) -> float | None:
        """The mean of the local constants along training."""
        found = [point.lipschitz for point in self.points if point.ratios]
        return fmean(found) if found else None

    @property
    def start(self) -> NoisePoint | None:
        """The noise at the initial weights."""
        return next((point for point in self.noise if point.step == 0), None)


@dataclass(frozen=True, kw_only=True)
class Smoothness:
    """One measurement of smoothness: what it was asked, and a curve for each sparsity."""

    spec: Mapping[str, Any]
    curves: tuple[SmoothnessCurve, ...]
    digest: str = ""
    least_loss: float = field(default=0.0)
    """f_inf, below which the loss does not fall: 0 for cross-entropy."""

    @cached_property
    def sparsities(self) -> tuple[float, ...]:
        """Those of which anything was measured."""
        return tuple(curve.sparsity for curve in self.curves)

    def curve(self, sparsity: float) -> SmoothnessCurve | None:
        """The curve of one sparsity."""
        return next((curve for curve in self.curves if curve.sparsity == sparsity), None)

    def delta(self, point: LipschitzPoint | NoisePoint) -> float:
        """Delta = 2 (f(w) - f_inf), at a point along training; at the initial weights it is the theory's constant."""
        loss = point.loss if isinstance(point, NoisePoint) else point.training_loss
        return 2 * (loss - self.least_loss)
