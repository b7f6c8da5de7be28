"""The workload `quadratic`: that it is the quadratic it says, and that what a race measures on it is what is so."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from parsity import race, workload
from parsity.analysis import fit
from parsity.data import Batches, split
from parsity.engines import Snapshot, make_engine
from parsity.models import make_network
from parsity.pruning import flatten
from parsity.quadratic import PROBLEM, images
from parsity.training import derived_seed, most_mistakes

GOAL = 0.005
H = np.array(PROBLEM.curvatures)


@pytest.fixture(scope="module")
def dataset():
    return images()


@pytest.fixture(scope="module")
def weights(dataset):
    return np.random.default_rng(1).normal(size=len(H)) * 0.3 / H


def replica(dataset, weights, engine="plain"):
    network = make_network("parsity.quadratic:Quadratic", seed=0)
    return make_engine(engine, network, dataset).replica(Snapshot(torch.tensor(weights, dtype=torch.float32), (), ()))


def test_the_problem_is_what_it_says():
    known = PROBLEM.assumptions
    assert (known.lipschitz, known.mu, known.m_g) == (4.0, 1.0, 1.0)
    assert known.beta == pytest.approx(0.125)
    assert PROBLEM.gradient_square(0.1, 1, 0) == pytest.approx(1)
    assert known.critical_batch(GOAL) == pytest.approx(25)


@pytest.mark.parametrize("engine", ["plain", "traced"])
def test_loss_and_gradient_are_the_quadratics(dataset, weights, engine):
    train = split(len(dataset.images)).train
    one = replica(dataset, weights, engine)
    loss, gradient = one.gradient(train)
    assert gradient.numpy() == pytest.approx(H * weights, rel=1e-3, abs=1e-4)
    base, _ = replica(dataset, 0 * weights, engine).gradient(train)
    assert loss - base == pytest.approx(0.5 * float(H @ weights**2), rel=1e-4)
    # Minimal at zero, where nothing is left of the gradient.
    assert replica(dataset, 0 * weights, engine).gradient(train)[1].abs().max() < 1e-5


def test_the_variance_of_single_images_is_beta_everywhere(dataset, weights):
    train = split(len(dataset.images)).train
    pixels = dataset.images[train, :, 0].double().numpy()
    for at in (weights, 0 * weights):
        gradients = pixels[:, 0] * (at - pixels[:, 1])
        variance = gradients.var(axis=0)
        assert variance == pytest.approx(np.array(PROBLEM.variances), rel=1e-5)
        assert variance.sum() == pytest.approx(PROBLEM.assumptions.beta, rel=1e-5)
    one = replica(dataset, weights)
    assert one.gradient(train[:1])[1].numpy() == pytest.approx(
        pixels[0, 0] * (weights - pixels[0, 1]), rel=1e-3, abs=1e-4
    )


def test_cross_entropy_is_the_loss_at_any_size(dataset):
    network = make_network("parsity.quadratic:Quadratic", seed=3)
    assert np.abs(flatten(network).numpy()) == pytest.approx(np.array(PROBLEM.start))
    assert (flatten(network) < 0).any()
    train = split(len(dataset.images)).train[:50]
    pixels = dataset.images[train]
    for scale in (0.0, 1.0, 30.0):
        with torch.no_grad():
            network.weights.copy_(torch.tensor(PROBLEM.start) * scale)
            found = F.cross_entropy(network(pixels), dataset.labels[train])
            a, x, o = pixels.double().flatten(2).unbind(1)
            exact = (0.5 * (a * (network.weights.double() - x) ** 2).sum(1) + o[:, 0]).mean()
        assert found.item() == pytest.approx(exact.item(), rel=1e-5)


def test_the_validation_error_is_the_square_of_the_gradient(dataset):
    validation = split(len(dataset.images)).validation
    for share in (0.0, 0.0104, 0.0106, 0.3, 0.9995, 4.0):
        scaled = np.sqrt(share) * np.array(PROBLEM.start)
        wrong = int((replica(dataset, scaled).margins(validation) <= 0).sum())
        assert wrong == min(int(share * 1000) + 1, 1000)
    assert most_mistakes(GOAL, len(validation)) == 5


def twin(dataset, batch_size: int, number: int, steps: int):
    """The same trial by numpy in double precision: the first even step at which |grad f|^2 is below the goal."""
    work = workload("quadratic")
    rate = work.space.trial(number)["learning_rate"]
    w = flatten(make_network(work.network, seed=derived_seed(0, "weights", number))).double().numpy()
    train = split(len(dataset.images)).train
    centres = dataset.images[train, 1, 0].double().numpy()
    batches = Batches(len(train), batch_size, derived_seed(0, "order", number))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps):
            w = w - rate * H * (w - centres[batches.indices(step).numpy()].mean(axis=0))
            if step % 2 and ((H * w) ** 2).sum() < GOAL:
                return step + 1
    return None


@pytest.mark.parametrize("batch_size", [16, 256])
def test_a_race_finds_what_its_slow_twin_finds(dataset, batch_size):
    cell = race("quadratic", batch_size, trials=12)
    limit = cell.steps_to_result()
    found = [steps for number in range(1, 13) if (steps := twin(dataset, batch_size, number, limit))]
    assert limit == min(found)
    assert PROBLEM.assumptions.fewest_steps(GOAL, batch_size) > limit


@pytest.fixture(scope="module")
def measured():
    cells = {batch: race("quadratic", batch, trials=32) for batch in (4, 16, 128, 512)}
    return {batch: (cell.steps_to_result(), cell.winner().trial.metaparameters) for batch, cell in cells.items()}


def test_measured_steps_are_those_of_the_closed_form(measured):
    """A goal test meets |grad f|^2 with its noise, so the first of 32 trials is somewhat ahead of the expectation."""
    for batch, (steps, _) in measured.items():
        expected, _ = PROBLEM.best(GOAL, batch)
        assert 0.7 * expected < steps < 1.15 * expected + 2


def test_measured_steps_follow_the_formula(measured):
    """Prop. 4.1: a fit of c1/B + c2 is close, and its critical batch is beta / epsilon, the noise scale at the goal."""
    batches = np.array(list(measured), dtype=float)
    fitted = fit(batches, np.log([steps for steps, _ in measured.values()]))
    assert fitted.squares[0] < 0.05
    assert np.exp(fitted.log_critical[0]) == pytest.approx(PROBLEM.assumptions.critical_batch(GOAL), rel=0.4)


def test_the_best_rate_grows_with_the_batch_and_ends_at_one_over_l(measured):
    """(9): in proportion to B, until it is between 1/L, the bound's limit, and 2/L, where sgd diverges."""
    rates = [found["learning_rate"] for _, found in measured.values()]
    assert rates == sorted(rates)
    assert rates[0] < 0.5 * rates[-1]
    assert 1 <= rates[-1] * PROBLEM.assumptions.lipschitz <= 2


def test_a_pruned_quadratic_is_a_quadratic():
    cell = race("quadratic", 64, sparsity=0.5, trials=4)
    assert cell.steps_to_result() is not None
