"""SNIP: connection sensitivity (Lee, Ajanthan & Torr, 2019), as in the paper."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from parsity.pruning.criterion import LabelledBatches
from parsity.pruning.gradients import summed_gradient
from parsity.pruning.layout import flatten


@dataclass(frozen=True)
class SNIP:
    """Score = | sum over batches b of  w · dL_b/dw |, with L_b the mean loss of batch b.

    It is the gradient with respect to a multiplier c of each weight, at c = 1: how much the loss would feel its
    removal. The sum is signed; the absolute value comes last. As the weights are the same for every batch, w leaves
    the sum and one pass of gradients is all it takes.
    """

    rounds: int = 1

    def scores(self, network: nn.Module, batches: LabelledBatches, *, seed: int = 0) -> Tensor:
        """Return |weight x summed gradient| of every parameter."""
        return (flatten(network) * summed_gradient(network, batches, seed=seed)).abs()
