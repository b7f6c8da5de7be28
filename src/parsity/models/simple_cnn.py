"""Simple-CNN, the paper's network for MNIST and Fashion-MNIST."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from parsity.models.initialisation import initialise_


class SimpleCNN(nn.Module):
    """Two valid 5x5 convolutions of 32 and 64 channels, each pooled 2x2, then 1024 -> 10: 62,346 parameters.

    There is no hidden layer and no dropout.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5)
        self.conv2 = nn.Conv2d(32, 64, 5)
        self.linear = nn.Linear(1024, 10)
        initialise_(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of a batch of 28x28 images, (N, 1, 28, 28)."""
        hidden = F.max_pool2d(F.relu(self.conv1(images)), 2)
        hidden = F.max_pool2d(F.relu(self.conv2(hidden)), 2)
        logits: Tensor = self.linear(hidden.flatten(1))
        return logits
