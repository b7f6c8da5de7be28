"""The error on the test split: looked at for the winners only, and never by a decision."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from parsity.data import Dataset
from parsity.engines import PlainEngine, Snapshot

AT_ONCE = 500


def test_error(network: nn.Module, dataset: Dataset, snapshot: Snapshot, mask: Tensor | None = None) -> float | None:
    """The share of test images ``network`` gets wrong at ``snapshot``; None where there is no test split."""
    if dataset.test_images is None or dataset.test_labels is None:
        return None
    test = Dataset.from_tensors(
        dataset.test_images,
        dataset.test_labels,
        name=dataset.name,
        classes=dataset.classes,
        scale=dataset.scale,
        mean=dataset.mean,
        std=dataset.std,
    )
    replica = PlainEngine(network, test).replica(snapshot, mask=mask)
    every = torch.arange(len(test.images))
    right = sum(int((replica.margins(part) > 0).sum()) for part in torch.split(every, AT_ONCE))
    return 1 - right / len(every)
