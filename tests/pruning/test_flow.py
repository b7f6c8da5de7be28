"""A layer that no path from input to output goes through is named; one that has a path never is."""

from __future__ import annotations

import itertools
import logging

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from parsity.models import ResNet8, SimpleCNN
from parsity.pruning import Layout, Mask, cut_off_layers, eligible_entries, flow, prune


def _mask(network: nn.Module, **kept: torch.Tensor) -> Mask:
    """Keep everything but what ``kept`` says of some tensors, written with __ for a dot."""
    parts = {name: torch.ones(shape, dtype=torch.bool) for name, shape in zip(*_layout(network), strict=True)}
    parts |= {name.replace("__", "."): tensor for name, tensor in kept.items()}
    return Mask.of(network, torch.cat([part.flatten() for part in parts.values()]))


def _layout(network: nn.Module):
    layout = Layout.of(network)
    return layout.names, layout.shapes


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=3 * 4 + 4 * 4 + 4 * 2, max_size=3 * 4 + 4 * 4 + 4 * 2))
def test_flow_is_where_a_path_is(bits):
    network = nn.Sequential(
        nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 2, bias=False)
    )
    mask = Mask.of(network, torch.tensor(bits))
    first, second, third = mask.tensors().values()
    on_a_path = [torch.zeros_like(part) for part in (first, second, third)]
    for i, h, k, o in itertools.product(range(3), range(4), range(4), range(2)):
        if first[h, i] and second[k, h] and third[o, k]:
            on_a_path[0][h, i] = on_a_path[1][k, h] = on_a_path[2][o, k] = True

    found = flow(network, mask, torch.zeros(3)) > 0

    assert torch.equal(found, torch.cat([part.flatten() for part in on_a_path]))


def test_an_emptied_layer_cuts_off_the_whole_of_a_chain():
    network = SimpleCNN()
    image = torch.zeros(1, 28, 28)

    assert cut_off_layers(network, Mask.dense(network), image) == ()
    emptied = _mask(network, conv2__weight=torch.zeros(64, 32, 5, 5, dtype=torch.bool))
    assert cut_off_layers(network, emptied, image) == ("conv1", "conv2", "linear")


def test_entries_that_never_meet_are_no_path():
    """Neither tensor is empty, but the channel that is written is not the channel that is read."""
    network = SimpleCNN()
    written, read = torch.zeros(32, 1, 5, 5, dtype=torch.bool), torch.zeros(64, 32, 5, 5, dtype=torch.bool)
    written[3], read[:, 4] = True, True

    layers = cut_off_layers(network, _mask(network, conv1__weight=written, conv2__weight=read), torch.zeros(1, 28, 28))
    assert layers == ("conv1", "conv2", "linear")
    read[9, 3, 2, 2] = True
    layers = cut_off_layers(network, _mask(network, conv1__weight=written, conv2__weight=read), torch.zeros(1, 28, 28))
    assert layers == ()


def test_a_shortcut_keeps_the_rest_alive():
    network = ResNet8()
    emptied = _mask(network, block2__conv2__weight=torch.zeros(32, 32, 3, 3, dtype=torch.bool))

    assert cut_off_layers(network, emptied, torch.zeros(3, 32, 32)) == ("block2.conv1", "block2.conv2")


class _Usual(nn.Module):
    """Normalisation of every kind, an activation that is not ReLU, a log-softmax at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.norm2 = nn.GroupNorm(2, 4)
        self.linear1 = nn.Linear(4, 6)
        self.norm3 = nn.LayerNorm(6)
        self.linear2 = nn.Linear(6, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(self.norm1(self.conv1(images)))
        hidden = F.relu(self.norm2(self.conv2(hidden))).amax((2, 3))
        return F.log_softmax(self.linear2(F.gelu(self.norm3(self.linear1(hidden)))), dim=1)


def test_usual_layers_are_alive_as_long_as_one_path_is():
    network = _Usual()
    network.norm1.running_mean += 100  # in eval mode this would silence every ReLU
    conv1, conv2 = torch.zeros(4, 3, 3, 3, dtype=torch.bool), torch.zeros(4, 2, 3, 3, dtype=torch.bool)
    conv1[3, 0, 1, 1] = conv2[2, 1, 1, 1] = True
    linear1, linear2 = torch.zeros(6, 4, dtype=torch.bool), torch.zeros(3, 6, dtype=torch.bool)
    linear1[5, 2] = linear2[0, 5] = True
    kept = {"conv1__weight": conv1, "conv2__weight": conv2, "linear1__weight": linear1, "linear2__weight": linear2}
    image = torch.zeros(3, 6, 6)

    assert cut_off_layers(network, _mask(network, **kept), image) == ()
    gain = torch.tensor([True, True, True, False])
    layers = cut_off_layers(network, _mask(network, **kept, norm1__weight=gain), image)
    assert layers == ("conv1", "norm1", "conv2", "norm2", "linear1", "norm3", "linear2")


def test_what_cannot_be_judged_is_not_accused():
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.Linear(2, 2)
            self.linear = nn.Linear(2, 2)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.linear(images)

    network = Constant()
    half = _mask(network, unused__weight=torch.zeros(2, 2, dtype=torch.bool))
    assert cut_off_layers(network, half, torch.zeros(2)) == ()


@pytest.mark.parametrize("depth", [40])
def test_depth_neither_overflows_nor_vanishes(depth):
    network = nn.Sequential(*[nn.Sequential(nn.Linear(300, 300), nn.ReLU()) for _ in range(depth)])
    entries = eligible_entries(network, "weights")
    sparse = torch.rand(len(entries), generator=torch.Generator().manual_seed(0)) < 0.02

    assert cut_off_layers(network, Mask.of(network, sparse & entries), torch.zeros(300)) == ()


def test_pruning_names_the_layer_in_a_warning(caplog):
    network = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    network[0].weight.data.fill_(1e-3)  # magnitude prunes the first layer away
    batches = [(torch.zeros(1, 4), torch.zeros(1, dtype=torch.long))]

    with caplog.at_level(logging.WARNING, "parsity"):
        prune(network, batches, sparsity=0.8, criterion="magnitude", eligible="weights")

    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "layer 0 is cut off at sparsity 0.6333",
        "layer 2 is cut off at sparsity 0.6333",
    ]
