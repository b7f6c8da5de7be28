"""The problem of the workload `quadratic`: what is known of it in advance."""

from __future__ import annotations

import numpy as np

from parsity.theory import NoisyQuadratic

DIMENSIONS, CONDITION, LIPSCHITZ, BETA = 128, 100.0, 4.0, 0.125


def _problem() -> NoisyQuadratic:
    """Curvatures evenly spaced, noise in proportion to them, each coordinate an equal part of the first gradient."""
    curvatures = np.linspace(LIPSCHITZ / CONDITION, LIPSCHITZ, DIMENSIONS)
    start = 1 / (curvatures * np.sqrt(DIMENSIONS))
    variances = BETA * curvatures / curvatures.sum()
    return NoisyQuadratic(
        curvatures=tuple(map(float, curvatures)),
        start=tuple(map(float, start)),
        variances=tuple(map(float, variances)),
    )


PROBLEM = _problem()
"""L = 4, beta = 1/8, and |grad f(w_1)| = 1: the goal is the share of |grad f|^2 that may be left."""
