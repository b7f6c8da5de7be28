"""What pruning criteria see: one whole pass of the training split, and its gradient by the quickest engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from parsity.data import Dataset, Split, split
from parsity.engines import NativeEngine, Snapshot, UnsupportedNetworkError, available_engines
from parsity.pruning import flatten

SCORING_BATCH = 100  # the protocol's batches of SNIP
SUMMED_AT_ONCE = 10
"""Batches whose gradients are summed in float32; their sums are added up in float64."""


@dataclass(frozen=True)
class ScoringBatches:
    """One whole pass of the training split in batches of 100, in the split's order; iterable again and again."""

    dataset: Dataset
    train: Tensor

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for batch in self._batches():
            yield self.dataset.normalise(self.dataset.images[batch]), self.dataset.labels[batch]

    def __len__(self) -> int:
        return -(-len(self.train) // SCORING_BATCH)

    def summed_gradient(self, network: nn.Module, batches: int | None = None) -> Tensor | None:
        """Sum over the (first) batches of the gradient of their mean loss, by native kernels; None where none serve.

        Batches of equal size count alike, so many of them are one: n of them sum to n times their images' mean.
        """
        parameters = list(network.parameters())
        if NativeEngine.name not in available_engines() or any(
            p.dtype != torch.float32 or p.is_cuda for p in parameters
        ):
            return None
        try:
            engine = NativeEngine(network, self.dataset)
        except UnsupportedNetworkError:
            return None
        replica = engine.replica(Snapshot(flatten(network), (), ()))
        whole = torch.zeros(sum(p.numel() for p in parameters), dtype=torch.float64)
        found = list(self._batches())[:batches]
        for first in range(0, len(found), SUMMED_AT_ONCE):
            some = found[first : first + SUMMED_AT_ONCE]
            for alike in (some[:-1], some[-1:]):  # the very last may be shorter
                if alike:
                    whole += replica.gradient(torch.cat(alike))[1].double() * len(alike)
        return whole.float()

    def _batches(self) -> Iterator[Tensor]:
        for start in range(0, len(self.train), SCORING_BATCH):
            yield self.train[start : start + SCORING_BATCH]


def scoring_batches(dataset: Dataset) -> ScoringBatches:
    """The batches that pruning criteria see."""
    parts: Split = split(len(dataset.images))
    return ScoringBatches(dataset, parts.train)
