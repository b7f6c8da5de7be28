"""The quadratic's network: its cross-entropy is the loss that an image describes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from parsity.quadratic.problem import PROBLEM


class Quadratic(nn.Module):
    """The weights w, from ``start`` with random signs.

    An image (a, x, o) has the loss q = 1/2 sum a (w - x)^2 + o > 0. The logits are -log(e^q - 1) and 0, whose
    cross-entropy for the first class is log(1 + e^(log(e^q - 1))) = q, to the last digit that floating point has.
    """

    def __init__(self, start: Sequence[float] = PROBLEM.start) -> None:
        super().__init__()
        signs = 2.0 * torch.randint(2, (len(start),)) - 1
        self.weights = nn.Parameter(torch.tensor(start) * signs)

    def forward(self, images: Tensor) -> Tensor:
        """The two logits of each image, (N, 3, 1, dimensions)."""
        curvature, centre, offset = images.flatten(2).unbind(1)
        loss = 0.5 * (curvature * (self.weights - centre) ** 2).sum(1) + offset[:, 0]
        # log(e^q - 1), safe for large q.
        first = -(loss + torch.log(-torch.expm1(-loss)))
        return torch.stack([first, torch.zeros_like(first)], 1)
