"""Every criterion's scores against an independent slow twin, and what all criteria have in common."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from parsity.errors import UsageError
from parsity.pruning import (
    CRITERIA,
    SNIP,
    GraSP,
    Layout,
    Magnitude,
    Random,
    SynFlow,
    find_criterion,
    flatten,
    scores,
)


def _network(seed: int = 0) -> nn.Sequential:
    """Smooth, so that derivatives can be told from differences; biases are not zero, so that their scores count."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(2, 3)).double()


def _batches(sizes=(5, 5, 2), shape=(1, 4, 4), classes=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    return [
        (
            torch.randn(size, *shape, generator=generator, dtype=dtype),
            torch.randint(0, classes, (size,), generator=generator),
        )
        for size in sizes
    ]


def _loss(network: nn.Module, flat: torch.Tensor, batches, temperature: float = 1.0) -> torch.Tensor:
    """Sum over the batches of the mean loss, at the parameters ``flat``."""
    parameters = Layout.of(network).split(flat)
    return sum(F.cross_entropy(functional_call(network, parameters, (x,)) / temperature, y) for x, y in batches)


def test_snip_is_the_signed_sum_of_gradient_times_weight():
    network, batches = _network(), _batches()
    total = torch.zeros(len(flatten(network)), dtype=torch.float64)
    for images, labels in batches:
        network.zero_grad()
        F.cross_entropy(network(images), labels).backward()
        total += torch.cat([(p.grad * p).flatten() for p in network.parameters()]).detach()

    torch.testing.assert_close(SNIP().scores(network, batches), total.abs(), rtol=1e-12, atol=1e-15)


def test_snip_is_what_the_loss_feels_of_each_multiplier():
    network, batches, h = _network(), _batches(), 1e-5
    weights = flatten(network)
    felt = torch.empty_like(weights)
    for j in range(len(weights)):
        change = torch.ones_like(weights)
        change[j] += h
        felt[j] = (_loss(network, weights * change, batches) - _loss(network, weights * (2 - change), batches)) / (
            2 * h
        )

    torch.testing.assert_close(SNIP().scores(network, batches), felt.abs(), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("temperature", [1.0, 200.0])
def test_grasp_is_weight_times_hessian_times_gradient(temperature):
    network, batches = _network(), _batches()
    weights = flatten(network)

    def loss(flat: torch.Tensor) -> torch.Tensor:
        return _loss(network, flat, batches, temperature)

    hessian = torch.autograd.functional.hessian(loss, weights)
    (gradient,) = torch.autograd.functional.jacobian(loss, weights).unsqueeze(0)

    torch.testing.assert_close(
        GraSP(temperature).scores(network, batches), weights * (hessian @ gradient), rtol=1e-9, atol=1e-20
    )


def test_grasp_keeps_what_the_flow_of_gradient_needs():
    """The sign: shrinking a weight of high score shrinks the gradient's norm most."""
    network, batches, h = _network(), _batches(), 1e-5
    weights = flatten(network)

    def flow(flat: torch.Tensor) -> torch.Tensor:
        flat = flat.clone().requires_grad_()
        return torch.autograd.grad(_loss(network, flat, batches), flat)[0].square().sum()

    loss_of_flow = torch.empty_like(weights)
    for j in range(len(weights)):
        shrunk = weights.clone()
        shrunk[j] *= 1 - h
        loss_of_flow[j] = (flow(weights) - flow(shrunk)) / (2 * h)

    torch.testing.assert_close(GraSP(1).scores(network, batches), loss_of_flow, rtol=1e-3, atol=1e-7)


def test_synflow_is_the_weight_of_all_paths_through_an_entry():
    """Paths are counted one by one; each carries the product of its weights' sizes."""
    first, second = nn.Linear(3, 4), nn.Linear(4, 2)
    network = nn.Sequential(first, nn.ReLU(), second)
    totals = {name: torch.zeros(p.shape, dtype=torch.float64) for name, p in network.named_parameters()}
    w1, b1, w2, b2 = (p.detach().double().abs() for p in network.parameters())
    for i, h, o in itertools.product(range(3), range(4), range(2)):
        path = w1[h, i] * w2[o, h]
        totals["0.weight"][h, i] += path
        totals["2.weight"][o, h] += path
    for h, o in itertools.product(range(4), range(2)):  # a bias is where a path can begin
        path = b1[h] * w2[o, h]
        totals["0.bias"][h] += path
        totals["2.weight"][o, h] += path
    totals["2.bias"] += b2

    found = SynFlow().scores(network, [(torch.randn(1, 3), torch.zeros(1))])

    torch.testing.assert_close(found, torch.cat([t.flatten() for t in totals.values()]), rtol=1e-12, atol=0)


def test_synflow_of_convolutions_is_conserved_from_layer_to_layer():
    network = nn.Sequential(
        nn.Conv2d(2, 3, 3, bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4, bias=False)
    )
    parts = Layout.of(network).split(SynFlow().scores(network, [(torch.randn(1, 2, 6, 6), torch.zeros(1))]))

    torch.testing.assert_close(parts["0.weight"].sum(), parts["4.weight"].sum(), rtol=1e-12, atol=0)


def test_synflow_does_not_overflow_where_float32_does():
    layers = [nn.Linear(64, 64, bias=False) for _ in range(30)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=2.0)

    found = SynFlow().scores(nn.Sequential(*layers), [(torch.randn(1, 64), torch.zeros(1))])

    assert bool(found.isfinite().all())
    assert float(found.max()) > torch.finfo(torch.float32).max


def test_magnitude_and_random():
    network = _network()

    assert Magnitude().scores(network).tolist() == [abs(w) for w in flatten(network).tolist()]
    draw = Random().scores(network, seed=3)
    assert torch.equal(draw, Random().scores(_network(seed=9), seed=3))
    assert not torch.equal(draw, Random().scores(network, seed=4))
    many = Random().scores(nn.Linear(100, 100), seed=0)
    assert 0.49 < float(many.mean()) < 0.51
    assert 0 <= float(many.min()) < float(many.max()) < 1


class _Awkward(nn.Module):
    """Batch norm, dropout, a frozen tensor, a tied one, one without use, and `view`, which channels-last breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.again = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.once_more = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.once_more.weight = self.again.weight
        self.dropout = nn.Dropout(0.5)
        self.linear = nn.Linear(4 * 4 * 4, 3)
        self.linear.bias.requires_grad_(False)
        self.idle = nn.Parameter(torch.ones(2))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(self.norm(self.conv(images)))
        hidden = self.once_more(F.relu(self.again(hidden)))
        return self.linear(self.dropout(hidden).view(len(images), -1))


@pytest.mark.parametrize("name", CRITERIA)
def test_a_network_comes_out_as_it_went_in(name):
    torch.manual_seed(0)
    network = _Awkward()
    network.dropout.eval()
    batches = _batches((40, 7), (3, 4, 4), dtype=torch.float32)
    F.cross_entropy(network(batches[0][0]), batches[0][1]).backward()
    before = copy.deepcopy(network.state_dict())
    pointers = [p.data_ptr() for p in network.parameters()]
    gradients = [None if p.grad is None else p.grad.clone() for p in network.parameters()]
    modes = [module.training for module in network.modules()]
    frozen = [p.requires_grad for p in network.parameters()]
    generator = torch.random.get_rng_state()

    first = scores(network, batches, criterion=name, seed=5)
    again = scores(network, batches, criterion=name, seed=5)

    assert torch.equal(first, again)
    assert len(first) == Layout.of(network).total
    assert bool(first.isfinite().all())
    assert first.requires_grad is False
    assert torch.equal(generator, torch.random.get_rng_state())
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())
    assert pointers == [p.data_ptr() for p in network.parameters()]
    for gradient, parameter in zip(gradients, network.parameters(), strict=True):
        assert parameter.grad is gradient is None or torch.equal(gradient, parameter.grad)
    assert modes == [module.training for module in network.modules()]
    assert frozen == [p.requires_grad for p in network.parameters()]


@pytest.mark.parametrize("name", ["snip", "grasp", "synflow"])
def test_no_batches_are_an_error_of_one_line(name):
    with pytest.raises(UsageError, match="one"):
        scores(_network(), [], criterion=name)


def test_criteria_are_found_by_name_and_by_import_path():
    assert find_criterion("grasp") == GraSP()
    assert find_criterion("parsity.pruning:SynFlow") == SynFlow(rounds=100)
    own = SNIP(rounds=3)
    assert find_criterion(own) is own
    with pytest.raises(UsageError, match="did you mean snip"):
        find_criterion("snipp")
    with pytest.raises(UsageError, match="`rounds` and `scores`"):
        find_criterion("collections:OrderedDict")
