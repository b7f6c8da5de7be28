"""ResNet-8, the paper's network for CIFAR-10."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from parsity.models.initialisation import initialise_


class Block(nn.Module):
    """ReLU, convolution, ReLU, convolution, beside a shortcut; no normalisation.

    A block of stride 1 adds its input as it is. One of stride 2 adds its input after the first ReLU, average-pooled,
    with channels of zeros appended.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.widening = outputs - inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1 if stride == 1 else 0)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(self, hidden: Tensor) -> Tensor:
        """Apply the block to (N, C, H, W)."""
        shortcut = hidden
        hidden = F.relu(hidden)
        if self.stride == 2:
            shortcut = F.pad(F.avg_pool2d(hidden, 2), (0, 0, 0, 0, 0, self.widening))
            # "Same" padding of a 3x3 convolution of stride 2 on an even image: one row below, one column at the right.
            hidden = F.pad(hidden, (0, 1, 0, 1))
        branch: Tensor = self.conv2(F.relu(self.conv1(hidden)))
        return branch + shortcut


class ResNet8(nn.Module):
    """3x3x16, residual blocks of 16, 32 and 64 channels, ReLU, global mean, 64 -> 10: 75,050 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.block1 = Block(16, 16, 1)
        self.block2 = Block(16, 32, 2)
        self.block3 = Block(32, 64, 2)
        self.linear = nn.Linear(64, 10)
        initialise_(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of a batch of 32x32 colour images, (N, 3, 32, 32)."""
        hidden = self.block3(self.block2(self.block1(self.conv(images))))
        logits: Tensor = self.linear(F.relu(hidden).mean((2, 3)))
        return logits
