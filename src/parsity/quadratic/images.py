"""The quadratic's data: every image is the loss of one example, and validation images ask how large the gradient is.

An image has three rows over the weights' coordinates: a_j, x_j and, in every place, o. Its loss is

    q(w) = 1/2 sum_j a_j (w_j - x_j)^2 + o.

Training images have a = h, and x of mean zero over the training split, so their mean is f plus a constant and each
one's gradient is h w - h x: noise of variance exactly c about grad f. Validation images have a_j = h_j^2, x = 0 and
o = log 2 - t/2 with levels t = 0, 1/V, 2/V, ..., so that q < log 2, which a network of two classes calls right, says
|grad f(w)|^2 < t. Of V levels, those not above |grad f|^2 are wrong: for a goal that is a multiple of 1/V, the goal
test asks whether |grad f(w)|^2 < goal, exactly.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from parsity.data import Dataset, split
from parsity.quadratic.problem import PROBLEM
from parsity.theory import NoisyQuadratic

IMAGES = 10_000
SEED = 20210503


def images(problem: NoisyQuadratic = PROBLEM, *, count: int = IMAGES) -> Dataset:
    """The data set of a noisy quadratic; the same problem and count give the same bytes."""
    parts = split(count)
    curvatures = np.array(problem.curvatures)
    rows = np.zeros((count, 3, len(curvatures)), dtype=np.float32)
    training, validation = parts.train.numpy(), parts.validation.numpy()
    rows[training, 0] = curvatures
    rows[training, 1] = _centres(problem, len(training))
    rows[validation, 0] = curvatures**2
    levels = np.arange(len(validation)) / len(validation)
    rows[validation, 2] = (math.log(2) - levels / 2)[:, None]
    return Dataset.from_tensors(
        torch.from_numpy(rows).unsqueeze(2),
        torch.zeros(count, dtype=torch.int64),
        name="quadratic",
        classes=("below", "above"),
    )


def _centres(problem: NoisyQuadratic, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Normal numbers made to have mean zero and, times h, the problem's variances over all ``count`` exactly."""
    drawn = np.random.default_rng(SEED).standard_normal((count, len(problem.curvatures)))
    drawn -= drawn.mean(axis=0)
    drawn /= np.sqrt((drawn**2).mean(axis=0))
    found: np.ndarray[tuple[int, int], np.dtype[np.float64]] = (
        drawn * np.sqrt(problem.variances) / np.array(problem.curvatures)
    )
    return found
