"""A small network for the embedded digits, wide enough to learn after 90 % of it is pruned."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from parsity.models.initialisation import initialise_


class DigitsCNN(nn.Module):
    """Two 3x3 convolutions of 24 and 48 channels, the second pooled 2x2, then 768 -> 10: 18,346 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.conv2 = nn.Conv2d(24, 48, 3, padding=1)
        self.linear = nn.Linear(768, 10)
        initialise_(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of a batch of 8x8 images, (N, 1, 8, 8)."""
        hidden = F.relu(self.conv1(images))
        hidden = F.max_pool2d(F.relu(self.conv2(hidden)), 2)
        logits: Tensor = self.linear(hidden.flatten(1))
        return logits
