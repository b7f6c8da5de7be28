"""What pruning criteria see: one whole pass of the training split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from parsity.data import Dataset, Split, split

SCORING_BATCH = 100  # the protocol's batches of SNIP


@dataclass(frozen=True)
class ScoringBatches:
    """One whole pass of the training split in batches of 100, in the split's order; iterable again and again."""

    dataset: Dataset
    train: Tensor

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.train), SCORING_BATCH):
            batch = self.train[start : start + SCORING_BATCH]
            yield self.dataset.normalise(self.dataset.images[batch]), self.dataset.labels[batch]

    def __len__(self) -> int:
        return -(-len(self.train) // SCORING_BATCH)


def scoring_batches(dataset: Dataset) -> ScoringBatches:
    """The batches that pruning criteria see."""
    parts: Split = split(len(dataset.images))
    return ScoringBatches(dataset, parts.train)
