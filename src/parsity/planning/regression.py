"""Least squares on relative errors, with coefficients from zero up, and little heed to outliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Floats = NDArray[np.float64]

HUBER = 1.345
"""Errors of more than so many standard deviations count linearly: 95 % as efficient as squares where none is."""
ROUNDS = 30
FLOOR = 0.05
"""No row is believed to a smaller relative error than this: the model is no better."""


def fit_relative(terms: Floats, measured: Floats, spreads: Floats | None = None) -> Floats:
    """The x >= 0 with ``terms`` x close to ``measured``: minimises the sum of Huber's function of (terms x - y) / y.

    ``spreads`` are relative too: each error is divided by its row's, and by `FLOOR` where that is more.

    By least squares whose weights are found anew each round. Rows are measurements; all are positive.
    """
    scales = np.ones(len(measured)) if spreads is None else np.hypot(spreads / FLOOR, 1.0)
    rows = terms / (measured * scales)[:, None]
    wanted = 1 / scales
    # Columns of one size: nnls stops at tolerances that know nothing of seconds a byte.
    sizes = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    rows = rows / sizes
    weights = np.ones(len(measured))
    found = np.zeros(terms.shape[1])
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        before, (found, _) = found, nnls(rows * root[:, None], wanted * root)
        errors = np.abs(rows @ found - wanted)
        # The median of absolute errors, as a standard deviation; never so small that rounding is an outlier.
        scale = max(float(np.median(errors)) / 0.6745, 1e-9)
        weights = np.minimum(1.0, HUBER * scale / np.maximum(errors, 1e-300))
        if np.abs(found - before).max() <= 1e-12 * max(float(found.max()), 1e-300):
            break
    solution: Floats = found / sizes
    return solution
