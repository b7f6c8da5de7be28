"""Small problems whose smoothness is known."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from parsity import Dataset


def dataset(count: int = 60, side: int = 6, classes: int = 3, seed: int = 0) -> Dataset:
    """Images of noise around a mean of their own per class: small, and learnt at once."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (count,), generator=generator)
    images = torch.randn(count, 1, side, side, generator=generator) + labels.view(-1, 1, 1, 1)
    return Dataset.from_tensors(images, labels, name="made up", classes=list(map(str, range(classes))))


def data() -> Dataset:
    """What a spec names: 200 images."""
    return dataset(200)


def network() -> nn.Module:
    """A convolution and a linear layer, of which every engine is capable."""
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))


def flat(module: nn.Module) -> Tensor:
    """Its parameters as one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])
