"""Random pruning: the comparison every other criterion must beat."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from parsity.pruning.criterion import LabelledBatches
from parsity.pruning.layout import Layout


@dataclass(frozen=True)
class Random:
    """Score = u, drawn uniformly from [0, 1) for every parameter."""

    rounds: int = 1

    def scores(self, network: nn.Module, batches: LabelledBatches = (), *, seed: int = 0) -> Tensor:
        """Return a number per parameter that depends on ``seed`` and its place alone."""
        generator = torch.Generator().manual_seed(seed)
        return torch.rand(Layout.of(network).total, generator=generator, dtype=torch.float64)
