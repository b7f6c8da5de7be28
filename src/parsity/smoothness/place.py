"""A place along training: weights, and the gradient over all images there, taken once for all that need it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from torch import Tensor

from parsity.engines import Replica, Snapshot
from parsity.smoothness.passes import full_gradient, nothing


@dataclass(frozen=True, kw_only=True)
class Place:
    """The weights after ``step`` steps.

    ``replica``'s mask decides which entries there are: pruned ones are zero in weights and gradients alike, so that
    norms are over the surviving ones. It is taken to and fro by whoever measures.
    """

    replica: Replica
    snapshot: Snapshot
    step: int
    images: Tensor
    pause: Callable[[], None] = nothing

    def go(self) -> Replica:
        """The replica, at these weights."""
        self.replica.restore(replace(self.snapshot, slots=()))
        return self.replica

    @cached_property
    def loss_gradient(self) -> tuple[float, Tensor]:
        """The mean loss and its gradient over all images."""
        return full_gradient(self.go(), self.images, self.pause)
