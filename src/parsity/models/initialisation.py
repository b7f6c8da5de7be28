"""Variance scaling, the initialisation of every built-in network."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

# Standard deviation of a standard normal truncated at two standard deviations; dividing by it restores unit variance.
TRUNCATED_NORMAL_STD = 0.87962566103423978


def variance_scaling_(weight: Tensor) -> Tensor:
    """Fill ``weight`` (outputs first) with N(0, 1/fan-in), truncated at two standard deviations, in place.

    The truncated normal is divided by 0.8796..., so that the variance is 1/fan-in after the truncation.
    """
    fan_in = weight[0].numel()
    std = 1 / (math.sqrt(fan_in) * TRUNCATED_NORMAL_STD)
    return nn.init.trunc_normal_(weight, std=std, a=-2 * std, b=2 * std)


@torch.no_grad()
def initialise_(network: nn.Module) -> None:
    """Variance scaling for every weight of two dimensions or more, zero for every bias, in the network's own order."""
    for parameter in network.parameters():
        if parameter.dim() > 1:
            variance_scaling_(parameter)
        else:
            parameter.zero_()
