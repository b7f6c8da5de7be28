"""Each quantity against a slow twin, or against a case whose answer is known."""

import math

import pytest
import torch
from small_problems import dataset, flat, network
from torch import nn
from torch.nn import functional as F

from parsity.engines import PlainEngine, Snapshot, available_engines, make_engine
from parsity.smoothness import Hessian, Place, curvature, full_gradient, lipschitz_point, noise_point
from parsity.smoothness.hessian import hutchinson, lanczos

DATA = dataset()


@pytest.fixture
def mask():
    return torch.rand(flat(network()).numel(), generator=torch.Generator().manual_seed(1)) > 0.5


def by_hand(module, mask, images):
    """The gradient over images, by autograd."""
    loss = F.cross_entropy(module(DATA.normalise(DATA.images[images])), DATA.labels[images])
    gradients = torch.autograd.grad(loss, list(module.parameters()))
    return loss.item(), torch.cat([gradient.flatten() for gradient in gradients]) * mask


def loaded(weights):
    module = network()
    torch.nn.utils.vector_to_parameters(weights, module.parameters())
    return module


@pytest.mark.parametrize("engine", list(available_engines()))
def test_ratios_by_a_plain_loop_over_surviving_weights(engine, mask):
    module = network()
    before, after = flat(module) * mask, (flat(module) + 0.01 * torch.randn(len(mask))) * mask
    images, validation = torch.arange(50), torch.arange(50, 60)
    replica = make_engine(engine, module, DATA).replica(Snapshot(before, (), ()), mask=mask)
    place = Place(replica=replica, snapshot=Snapshot(before, (), ()), step=7, images=images)
    found = lipschitz_point(place, Snapshot(after, (), ()), gammas=(0.5, 1.0), validation=validation)
    loss, base = by_hand(loaded(before), mask, images)
    for gamma, ratio in found.ratios.items():
        between = before + gamma * (after - before)
        _, gradient = by_hand(loaded(between), mask, images)
        expected = (gradient.double() - base).norm() / (between.double() - before).norm()
        assert ratio == pytest.approx(float(expected), rel=1e-4)
    wrong = {
        len(some): (loaded(before)(DATA.images[some]).argmax(1) != DATA.labels[some]).float().mean().item()
        for some in (images, validation)
    }
    assert (found.step, found.training_loss) == (7, pytest.approx(loss, rel=1e-5))
    assert (found.training_error, found.validation_error) == pytest.approx((wrong[50], wrong[10]))
    assert found.gradient_norm == pytest.approx(float(base.norm()), rel=1e-5)
    assert found.distance == pytest.approx(float((after - before).norm()), rel=1e-5)


def test_where_training_does_not_move_there_is_no_ratio():
    snapshot = Snapshot(flat(network()), (), ())
    place = Place(
        replica=make_engine("auto", network(), DATA).replica(snapshot),
        snapshot=snapshot,
        step=0,
        images=torch.arange(9),
    )
    found = lipschitz_point(place, snapshot, gammas=(0.5, 1.0))
    assert not found.ratios
    assert math.isnan(found.lipschitz)


def test_a_gradient_in_parts_is_the_whole_ones(monkeypatch, mask):
    monkeypatch.setattr("parsity.smoothness.passes.AT_ONCE", 7)
    replica = make_engine("auto", network(), DATA).replica(Snapshot(flat(network()), (), ()), mask=mask)
    loss, gradient = full_gradient(replica, torch.arange(60))
    whole_loss, whole = replica.gradient(torch.arange(60))
    assert loss == pytest.approx(whole_loss, rel=1e-5)
    assert torch.allclose(gradient, whole.double(), atol=1e-6)


@pytest.mark.parametrize("engine", list(available_engines()))
def test_beta_by_a_plain_loop(engine, mask):
    module = network()
    snapshot, images = Snapshot(flat(module), (), ()), torch.arange(40)
    replica = make_engine(engine, module, DATA).replica(snapshot, mask=mask)
    found = noise_point(Place(replica=replica, snapshot=snapshot, step=0, images=images))
    weights = flat(module) * mask
    each = torch.stack([by_hand(loaded(weights), mask, image[None])[1].double() for image in images])
    beta = float((each - each.mean(0)).square().sum(1).mean())
    assert found.beta == pytest.approx(beta, rel=1e-4)
    assert (found.low, found.high, found.exact) == (found.beta, found.beta, True)
    # Its definition, on a sample of 40: the trace of the covariance over the squared norm of the mean.
    covariance = torch.cov(each.T, correction=0)
    assert found.noise_scale == pytest.approx(float(covariance.trace() / each.mean(0).square().sum()), rel=1e-4)


def test_a_sampled_beta_has_an_interval_that_holds_the_exact_one():
    data, module = dataset(600), network()
    snapshot, images = Snapshot(flat(module), (), ()), torch.arange(600)
    place = Place(replica=make_engine("auto", module, data).replica(snapshot), snapshot=snapshot, step=0, images=images)
    exact = noise_point(place)
    held = 0
    for seed in range(60):
        order = torch.randperm(600, generator=torch.Generator().manual_seed(seed))
        found = noise_point(place, sample=order[:60])
        assert not found.exact
        assert found.low < found.beta < found.high
        held += found.low <= exact.beta <= found.high
    # 95 % of 60 is 57; fewer than 50 by chance once in a thousand, and skewness takes its part.
    assert held >= 50


def test_noise_scale_of_a_linear_model_in_closed_form():
    """One weight per class and pixel, at zero: g_i = (1/2 - y_i) x_i, whose mean and variance can be written down."""
    images = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0], [2.0, 2.0]]).view(4, 1, 1, 2)
    from parsity import Dataset

    data = Dataset.from_tensors(images, torch.tensor([0, 1, 0, 1]), name="four")
    module = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    snapshot = Snapshot(torch.zeros(4), (), ())
    place = Place(
        replica=make_engine("auto", module, data).replica(snapshot), snapshot=snapshot, step=0, images=torch.arange(4)
    )
    found = noise_point(place)
    signed = torch.tensor([[-0.5], [0.5], [-0.5], [0.5]]) * images.view(4, 2)
    mean = signed.mean(0)
    # The second class's gradient is minus the first's: everything counts twice.
    assert found.gradient_squared == pytest.approx(2 * float(mean.square().sum()), rel=1e-6)
    assert found.beta == pytest.approx(2 * float((signed - mean).square().sum(1).mean()), rel=1e-6)
    assert found.noise_scale == pytest.approx(found.beta / found.gradient_squared)
    assert found.loss == pytest.approx(math.log(2), rel=1e-6)


def test_hessian_products_against_differences_of_gradients(mask):
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    weights = flat(module)
    mask = torch.rand(len(weights), generator=torch.Generator().manual_seed(0)) > 0.3
    weights = weights * mask
    hessian = Hessian(module.float(), DATA, torch.arange(60), weights.float(), mask)
    vector = torch.randn(int(mask.sum()), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    vector /= vector.norm()
    step = torch.zeros(len(weights), dtype=torch.float64).masked_scatter_(mask, vector) * 1e-5

    def gradient(at):
        twin = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 3)).double()
        nn.utils.vector_to_parameters(at, twin.parameters())
        loss = F.cross_entropy(twin(DATA.images.double()), DATA.labels)
        return torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(twin.parameters()))])

    difference = (gradient(weights + step) - gradient(weights - step)) / 2e-5
    assert torch.allclose(hessian @ vector, difference[mask], atol=1e-5)


def test_a_quadratic_with_a_known_hessian():
    """f(w) = w.Aw / 2: Lanczos finds A's extreme eigenvalues, Hutchinson its trace, and Eq. 11 |Ad| / |d|."""
    generator = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(30, 30, generator=generator, dtype=torch.float64)).Q
    eigenvalues = torch.cat([torch.linspace(-1, 2, 29, dtype=torch.float64), torch.tensor([5.0])])
    matrix = basis @ torch.diag(eigenvalues) @ basis.T
    start = torch.randn(30, generator=generator, dtype=torch.float64)
    top, residual, bottom, took = lanczos(lambda v: matrix @ v, start, 30)
    assert top == pytest.approx(5, rel=1e-6)
    assert took < 30
    assert residual < 1e-3
    assert bottom == pytest.approx(-1, abs=0.1)
    exact = lanczos(lambda v: torch.diag(eigenvalues[:3]) @ v, torch.ones(3, dtype=torch.float64), 10)
    assert exact[2] == pytest.approx(-1)
    trace, reach = hutchinson(lambda v: matrix @ v, 30, 400, generator)
    assert abs(trace - float(eigenvalues.sum())) < reach * 2
    diagonal, none = hutchinson(lambda v: eigenvalues * v, 30, 3, generator)
    assert (diagonal, none) == (pytest.approx(float(eigenvalues.sum())), pytest.approx(0, abs=1e-9))


def test_curvature_of_a_network_against_its_whole_hessian():
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    weights, mask = flat(module), torch.ones(111, dtype=torch.bool)
    mask[:40] = False
    weights = weights * mask
    hessian = Hessian(module, DATA, torch.arange(60), weights, mask)
    dense = torch.stack([hessian @ row for row in torch.eye(71, dtype=torch.float64)])
    assert torch.allclose(dense, dense.T, atol=1e-5)
    eigenvalues = torch.linalg.eigvalsh(dense)
    found = curvature(hessian, step=3, images=60, iterations=71, probes=20, seed=5)
    assert found.top == pytest.approx(float(eigenvalues[-1]), rel=1e-3)
    assert found.trace_low - 2 * (found.trace - found.trace_low) < float(dense.trace()) < 3 * found.trace_high
    assert (found.step, found.images, found.probes) == (3, 60, 20)


def test_of_the_engines_ways_to_deviations_all_agree(reference):
    """The paper's networks, one image at a time in C, in float64 sums."""
    from parsity import Dataset

    data = Dataset.from_tensors(reference.images, reference.labels, name=reference.name)
    mask, images = reference.flat("mask/0.9").bool(), torch.arange(6)
    snapshot = Snapshot(reference.flat("w") * mask, (), ())
    plain = PlainEngine(reference.network(), data).replica(snapshot, mask=mask)
    centre = full_gradient(plain, images)[1]
    expected = plain.deviations(images, centre)
    for engine in available_engines():
        replica = make_engine(engine, reference.network(), data).replica(snapshot, mask=mask)
        assert torch.allclose(replica.deviations(images, centre), expected, rtol=1e-4)
