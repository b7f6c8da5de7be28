"""The three optimisers of the protocol.

An optimiser is built from a trial's metaparameters and keeps nothing of its own: what it remembers between steps are
``slots`` vectors of the weights' length, owned by the caller. On a pruned network the caller multiplies the gradient
by the mask; as pruned weights and slots begin at zero, every update here then leaves them at exactly zero, with
weight decay too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from torch import Tensor

OPTIMISERS = {
    "sgd": "parsity.optimisation:Sgd",
    "momentum": "parsity.optimisation:Momentum",
    "nesterov": "parsity.optimisation:Nesterov",
}


class Optimiser(Protocol):
    """What an optimiser of one's own must offer; its constructor's keywords are its metaparameters."""

    slots: ClassVar[int]
    """How many vectors it remembers; they begin at zero."""

    def update_(self, weights: Tensor, gradient: Tensor, slots: Sequence[Tensor], learning_rate: float) -> None:
        """Take one step in place. ``gradient`` may be overwritten."""


@dataclass(frozen=True, kw_only=True)
class Sgd:
    """``w -= lr g``; with weight decay, ``g + weight_decay w`` stands for g."""

    weight_decay: float = 0.0
    slots: ClassVar[int] = 0

    def update_(self, weights: Tensor, gradient: Tensor, slots: Sequence[Tensor], learning_rate: float) -> None:
        """Take one step in place."""
        _decay_(gradient, weights, self.weight_decay)
        weights.add_(gradient, alpha=-learning_rate)


@dataclass(frozen=True, kw_only=True)
class Momentum:
    """``v = m v + g; w -= lr v``; with weight decay, ``g + weight_decay w`` stands for g."""

    momentum: float
    weight_decay: float = 0.0
    slots: ClassVar[int] = 1

    def update_(self, weights: Tensor, gradient: Tensor, slots: Sequence[Tensor], learning_rate: float) -> None:
        """Take one step in place."""
        _decay_(gradient, weights, self.weight_decay)
        (velocity,) = slots
        velocity.mul_(self.momentum).add_(gradient)
        weights.add_(velocity, alpha=-learning_rate)


@dataclass(frozen=True, kw_only=True)
class Nesterov:
    """``v = m v + g; w -= lr (g + m v)``; with weight decay, ``g + weight_decay w`` stands for g."""

    momentum: float
    weight_decay: float = 0.0
    slots: ClassVar[int] = 1

    def update_(self, weights: Tensor, gradient: Tensor, slots: Sequence[Tensor], learning_rate: float) -> None:
        """Take one step in place."""
        _decay_(gradient, weights, self.weight_decay)
        (velocity,) = slots
        velocity.mul_(self.momentum).add_(gradient)
        weights.add_(gradient.add_(velocity, alpha=self.momentum), alpha=-learning_rate)


def _decay_(gradient: Tensor, weights: Tensor, weight_decay: float) -> None:
    if weight_decay:
        gradient.add_(weights, alpha=weight_decay)
