"""Whole passes over many images: the mean loss and its gradient, and the error."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from parsity.engines import Replica

AT_ONCE = 1_000
"""Images whose gradients are added up in float32; beyond that in float64. Also what an interruption may wait for."""


def nothing() -> None:
    """What is done between parts of a pass where nobody asks for more."""


def full_gradient(replica: Replica, images: Tensor, pause: Callable[[], None] = nothing) -> tuple[float, Tensor]:
    """The mean loss over ``images`` and its gradient, both added up in float64; ``pause`` is called now and then."""
    loss = 0.0
    gradient: Tensor | None = None
    for part in images.split(AT_ONCE):  # type: ignore[no-untyped-call]
        pause()
        share = len(part) / len(images)
        part_loss, part_gradient = replica.gradient(part)
        loss += part_loss * share
        if gradient is None:
            gradient = torch.zeros(part_gradient.shape, dtype=torch.float64)
        gradient.add_(part_gradient, alpha=share)
    if gradient is None:
        raise ValueError("a gradient over no images")
    return loss, gradient


def error_of(replica: Replica, images: Tensor, pause: Callable[[], None] = nothing) -> float:
    """The share of ``images`` that are wrong."""
    right = 0
    for part in images.split(AT_ONCE):  # type: ignore[no-untyped-call]
        pause()
        right += int((replica.margins(part) > 0).sum())
    return 1 - right / len(images)
