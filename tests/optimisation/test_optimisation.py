"""Optimisers, schedules and rules."""

import math

import pytest
import torch

from parsity.errors import UsageError
from parsity.optimisation import (
    OPTIMISERS,
    Cosine,
    Linear,
    Momentum,
    Nesterov,
    Sgd,
    Step,
    WarmUp,
    make_rule,
    metaparameter_names,
)


def _twin(kind: str, weight: float, gradients: list[float], rate: float, m: float, decay: float) -> float:
    """The protocol's formulas, one scalar at a time."""
    v = 0.0
    for g in gradients:
        g += decay * weight
        v = m * v + g
        weight -= rate * {"sgd": g, "momentum": v, "nesterov": g + m * v}[kind]
    return weight


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["sgd", "momentum", "nesterov"])
def test_updates_are_the_protocols(kind, decay):
    given = {"learning_rate": 0.1, "weight_decay": decay} | ({} if kind == "sgd" else {"momentum": 0.9})
    rule = make_rule(kind, "constant", given)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(5, generator=generator, dtype=torch.float64)
    gradients = torch.randn(30, 5, generator=generator, dtype=torch.float64)
    weights = start.clone()
    slots = [torch.zeros_like(weights) for _ in range(rule.optimiser.slots)]
    for step, gradient in enumerate(gradients.clone()):
        rule.optimiser.update_(weights, gradient, slots, rule.rate(step))
    for i in range(5):
        expected = _twin(kind, start[i].item(), gradients[:, i].tolist(), 0.1, 0.9, decay)
        assert weights[i].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("optimiser", [Sgd, Momentum, Nesterov])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_pruned_entries_stay_exactly_zero(optimiser, decay):
    rule = optimiser(weight_decay=decay) if optimiser is Sgd else optimiser(momentum=0.99, weight_decay=decay)
    generator = torch.Generator().manual_seed(1)
    mask = torch.rand(200, generator=generator) < 0.1
    weights = torch.randn(200, generator=generator) * mask
    slots = [torch.zeros(200) for _ in range(rule.slots)]
    for _ in range(1000):
        rule.update_(weights, torch.randn(200, generator=generator) * mask, slots, 0.01)
    for vector in (weights, *slots):
        assert not vector[~mask].any()
        assert vector[mask].all()


def test_linear_goes_from_one_to_the_end_factor_and_stays():
    schedule = Linear(decay_steps=10, end_learning_rate_factor=0.1)
    assert [schedule(step) for step in (0, 5, 10, 11, 1000)] == pytest.approx([1, 0.55, 0.1, 0.1, 0.1])


def test_the_other_schedules():
    cosine = Cosine(decay_steps=8, end_learning_rate_factor=0.2)
    assert [cosine(step) for step in (0, 4, 8, 99)] == pytest.approx([1, 0.6, 0.2, 0.2])
    assert cosine(2) == pytest.approx(0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2)
    assert [Step(drop_interval=3, drop_factor=0.5)(step) for step in range(7)] == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]
    assert [WarmUp(warm_up_steps=4)(step) for step in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]


def test_metaparameters_find_who_takes_them():
    rule = make_rule(
        "nesterov",
        "linear",
        {"learning_rate": 2, "momentum": 0.9, "decay_steps": 10, "end_learning_rate_factor": 0.5},
    )
    assert rule.optimiser == Nesterov(momentum=0.9)
    assert rule.rate(10) == 1.0
    assert metaparameter_names("sgd", "constant") == ({"learning_rate"}, {"weight_decay"})
    assert set(OPTIMISERS) == {"sgd", "momentum", "nesterov"}


@pytest.mark.parametrize(
    ("optimiser", "given", "words"),
    [
        ("momentum", {"learning_rate": 1}, "momentum is missing"),
        ("sgd", {"learning_rate": 1, "momentum": 0.9}, r"momentum is not taken \(allowed: learning_rate, weight_decay"),
        ("sgd", {}, "learning_rate is missing"),
        ("adam", {"learning_rate": 1}, "momentum, nesterov, sgd"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(optimiser, given, words):
    with pytest.raises(UsageError, match=words):
        make_rule(optimiser, "constant", given)
