"""Magnitude: the weight's own size."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from parsity.pruning.criterion import LabelledBatches
from parsity.pruning.layout import flatten


@dataclass(frozen=True)
class Magnitude:
    """Score = |w|. Biases that begin at zero go first."""

    rounds: int = 1

    def scores(self, network: nn.Module, batches: LabelledBatches = (), *, seed: int = 0) -> Tensor:
        """Return the absolute value of every parameter; neither data nor seed matters."""
        return flatten(network).abs()
