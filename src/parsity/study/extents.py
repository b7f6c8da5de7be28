"""How much of a built-in workload is measured: the paper's whole grid, or what a desk affords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from parsity.training import WORKLOADS

Scale = Literal["desk", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclass(frozen=True)
class Extent:
    """A grid of cells, the trials each of them gets, and the patience with those that are behind."""

    batch_sizes: tuple[int, ...]
    sparsities: tuple[float, ...]
    trials: int
    patience: float


PAPER_SPARSITIES = (0.0, 0.5, 0.7, 0.9)
USUAL = Extent((2, 8, 32, 128, 512, 2048), PAPER_SPARSITIES, trials=16, patience=2)
"""What a desk affords of Simple-CNN on 28 x 28 pixels; also for workloads of one's own."""

_DIGITS = Extent(tuple(2**i for i in range(1, 10)), PAPER_SPARSITIES, trials=32, patience=3)
_QUADRATIC = Extent(tuple(2**i for i in range(11)), (0.0,), trials=32, patience=1.5)
# ResNet-8 takes four times as long an image, and CIFAR-10 more of them: the two ends of sparsity, fewer batch sizes.
_CIFAR = Extent((8, 32, 128, 512), (0.0, 0.9), trials=16, patience=1.5)
# The fewest steps are the same for any patience; 1 gives them for a hundredth of what the paper's protocol takes.
PAPER = Extent(tuple(2**i for i in range(1, 15)), PAPER_SPARSITIES, trials=100, patience=1)


def extent(workload: str, scale: Scale = "desk") -> Extent | None:
    """What ``scale`` measures of a built-in workload; None where there is no such scale of it."""
    if scale == "paper":
        return None if workload in ("digits", "quadratic") else PAPER
    if workload == "quadratic":
        return _QUADRATIC
    data = WORKLOADS[workload].data
    return _DIGITS if data == "digits" else _CIFAR if data == "cifar10" else USUAL
