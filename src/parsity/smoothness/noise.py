"""The noise of single-image gradients: beta, and with it the noise scale."""

from __future__ import annotations

import math
from statistics import fmean

import torch
from scipy.special import stdtrit
from torch import Tensor

from parsity.results import NoisePoint
from parsity.smoothness.place import Place

AT_ONCE = 250


def noise_point(place: Place, *, sample: Tensor | None = None) -> NoisePoint:
    """Beta = the mean of |g_i - g|^2 at ``place``, g the mean gradient over all its images.

    Without a ``sample``, each image's gradient is looked at and beta is exact; with one, of those images alone: the
    mean over them with Student's interval, narrower the more of all images they are. As g is known in either case,
    both are plain means.
    """
    loss, gradient = place.loss_gradient
    replica, images = place.go(), place.images
    looked_at = images if sample is None else sample
    parts = []
    for part in looked_at.split(AT_ONCE):  # type: ignore[no-untyped-call]
        place.pause()
        parts.append(replica.deviations(part, gradient))
    deviations = torch.cat(parts)
    beta = fmean(deviations.tolist())
    reach = _reach(deviations, len(images))
    return NoisePoint(
        step=place.step,
        beta=beta,
        low=max(beta - reach, 0.0),
        high=beta + reach,
        images=len(looked_at),
        of_images=len(images),
        gradient_squared=float(gradient.square().sum()),
        loss=loss,
    )


def _reach(values: Tensor, population: int) -> float:
    """Half the width of Student's 95 % interval of a mean, of a sample drawn without replacement."""
    count = len(values)
    left = 1 - count / population
    if left <= 0 or count < 2:
        return 0.0
    return float(stdtrit(count - 1, 0.975)) * float(values.std()) * math.sqrt(left / count)
