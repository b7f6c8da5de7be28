"""The quick ways to a summed gradient give the plain one, or are not taken."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from parsity.models import SimpleCNN, make_network
from parsity.pruning import summed_gradient


def _plainly(network: nn.Module, batches) -> torch.Tensor:
    network.zero_grad()
    for images, labels in batches:
        F.cross_entropy(network(images), labels).backward()
    return torch.cat([p.grad.flatten() for p in network.parameters()])


def _batches(shape, sizes=(100, 100, 37), classes=10):
    generator = torch.Generator().manual_seed(0)
    return [
        (torch.randn(n, *shape, generator=generator), torch.randint(0, classes, (n,), generator=generator))
        for n in sizes
    ]


class _Mixing(nn.Module):
    """A layer that subtracts the batch's mean: no slice of a batch gives what the batch gives."""

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden - hidden.mean(0)


class _View(nn.Module):
    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden.view(len(hidden), -1)


def _convolutions(*more: nn.Module) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), *more, nn.Linear(8 * 36, 10))


@pytest.mark.parametrize(
    ("network", "shape"),
    [
        (make_network(SimpleCNN, seed=0), (1, 28, 28)),
        (_convolutions(_View()), (3, 8, 8)),
        (_convolutions(nn.BatchNorm2d(8), nn.Flatten()), (3, 8, 8)),
        (_convolutions(_Mixing(), _View()), (3, 8, 8)),
        (nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 10)), (5,)),
    ],
    ids=["simple-cnn", "view", "batch-norm", "mixing", "vectors"],
)
def test_the_quick_gradient_is_the_plain_one(network, shape):
    batches = _batches(shape)
    plain = _plainly(network, batches)

    difference = summed_gradient(network, batches) - plain

    # Batch norm sees a network's own noise; either way float32 rounding is all that may differ.
    assert float(difference.norm() / plain.norm()) < 1e-5


def test_dropout_is_not_sliced_and_follows_the_seed():
    network = _convolutions(nn.Dropout(0.5), nn.Flatten())
    batches = _batches((3, 8, 8), (64,))
    with torch.random.fork_rng():
        torch.manual_seed(4)
        plain = _plainly(network, batches)

    torch.testing.assert_close(summed_gradient(network, batches, seed=4), plain)
    assert not torch.allclose(summed_gradient(network, batches, seed=5), plain)


def test_a_quick_way_that_is_not_taken_says_why(caplog):
    with caplog.at_level(logging.DEBUG, "parsity.pruning"):
        summed_gradient(_convolutions(_View()), _batches((3, 8, 8)))

    assert "is not possible here" in caplog.text


def test_a_network_that_fails_fails_openly():
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        summed_gradient(nn.Sequential(nn.Flatten(), nn.Linear(5, 10)), _batches((3, 8, 8)))
