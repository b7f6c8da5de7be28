"""The networks: sizes, initial weights, and the loss and gradients the paper's own program computed."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from parsity.errors import UsageError
from parsity.models import DigitsCNN, ResNet8, SimpleCNN, make_network, variance_scaling_


@pytest.mark.parametrize(
    ("network", "count", "shape"),
    [
        (SimpleCNN, 62_346, (1, 28, 28)),
        (ResNet8, 75_050, (3, 32, 32)),
        (DigitsCNN, 18_346, (1, 8, 8)),
    ],
)
def test_parameter_count_and_output(network, count, shape):
    module = network()
    assert sum(p.numel() for p in module.parameters()) == count
    assert module(torch.zeros(3, *shape)).shape == (3, 10)


def test_loss_and_gradients_are_the_authors(reference):
    network = reference.network()
    logits = network(reference.images[:64])
    loss = F.cross_entropy(logits, reference.labels[:64])
    loss.backward()
    assert loss.item() == pytest.approx(float(reference.arrays["logits/loss"]), abs=1e-5)
    correct = torch.from_numpy(reference.arrays["logits/correct"]).bool()
    assert torch.equal(logits.argmax(1) == reference.labels[:64], correct)
    for name, expected in reference.tensors("grad").items():
        assert (network.get_parameter(name).grad - expected).abs().max() < 1e-5, name


def test_variance_scaling_is_truncated_and_of_unit_variance():
    torch.manual_seed(0)
    weight = variance_scaling_(torch.empty(400, 25, 5, 5)) * math.sqrt(625)
    assert abs(weight.mean().item()) < 0.01
    assert abs(weight.var().item() - 1) < 0.01
    assert weight.abs().max().item() <= 2 / 0.8796 + 1e-3


def test_biases_begin_at_zero():
    assert all(not p.any() for name, p in ResNet8().named_parameters() if name.endswith("bias"))


def test_same_seed_same_weights_and_the_global_generator_is_left_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = (make_network("simple-cnn", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    for a, b, c in zip(first.parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not a.any() or not torch.equal(a, c)


def test_a_network_of_ones_own_with_buffers():
    module = make_network(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), seed=0)
    assert dict(module.named_buffers())


@pytest.mark.parametrize(
    ("network", "words"),
    [("simple-cn", "simple-cnn"), ("nowhere.at:all", "nowhere"), (lambda: 3, "must build a torch.nn.Module")],
)
def test_what_is_not_a_network_gets_one_clear_line(network, words):
    with pytest.raises(UsageError, match=words) as error:
        make_network(network, seed=0)
    assert "\n" not in str(error.value)
