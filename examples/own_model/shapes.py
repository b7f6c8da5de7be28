"""A data set and a network of one's own: what Parsity needs of them is a function each.

The data are drawings of four shapes, made here so that the example stands alone; yours come from wherever you keep
them. The network is any `torch.nn.Module`; it takes its initial weights from torch's global generator, which Parsity
seeds for each trial.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from parsity import Dataset

SIDE = 12
CLASSES = ("disc", "square", "cross", "ring")


def load() -> Dataset:
    """3,000 training and 600 test images, uint8, 1 x 12 x 12."""
    images, labels = draw(3600, seed=0)
    return Dataset.from_tensors(
        images[:3000],
        labels[:3000],
        name="shapes",
        test_images=images[3000:],
        test_labels=labels[3000:],
        classes=CLASSES,
    )


def draw(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy shapes of different sizes at different places."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(len(CLASSES), (count,), generator=generator)
    centre = 4 + 3 * torch.rand(count, 2, 1, 1, generator=generator)
    radius = 2 + 2 * torch.rand(count, 1, 1, generator=generator)
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    down, right = rows - centre[:, 0], columns - centre[:, 1]
    distance = (down**2 + right**2).sqrt()
    square = torch.maximum(down.abs(), right.abs())
    shapes = torch.stack(
        [
            distance < radius,
            square < radius * 0.85,
            (torch.minimum(down.abs(), right.abs()) < 0.8) & (square < radius),
            (distance - radius * 0.8).abs() < 0.8,
        ]
    )
    ink = shapes[labels, torch.arange(count)].float()
    pixels = 200 * ink + 40 * torch.randn(count, SIDE, SIDE, generator=generator)
    return pixels.clamp(0, 255).to(torch.uint8)[:, None], labels


def network() -> nn.Module:
    """Two convolutions and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 9, len(CLASSES)),
    )
