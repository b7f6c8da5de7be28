"""Every engine against the authors' recorded trajectories, and against the plain one."""

import pytest
import torch

from parsity.data import Dataset
from parsity.engines import PlainEngine, Snapshot, available_engines, make_engine
from parsity.engines.plain import label_margins
from parsity.errors import UsageError
from parsity.optimisation import Rule, make_rule

LINEAR = {"decay_steps": 10, "end_learning_rate_factor": 0.1}


def recorded_dataset(reference) -> Dataset:
    """The recorded inputs as a data set: images 32t..32t+31 are step t's batch."""
    return Dataset.from_tensors(reference.images, reference.labels, name=reference.name)


def beginning(weights, slots=1) -> Snapshot:
    return Snapshot(weights.clone(), tuple(torch.zeros_like(weights) for _ in range(slots)), ())


def agree(ours, theirs, tolerance=1e-5) -> bool:
    """Equal to rounding, but for a few: where a ReLU's input or a pooling tie is within rounding of the border, it may
    fall either way, in any float32 program, and the few hundred weights of one kernel follow."""
    difference = (ours - theirs).abs()
    return bool(difference.max() < 100 * tolerance and (difference > tolerance).float().mean() < 0.05)


class Own:
    """An optimiser that no engine has compiled, and that looks at its vectors as a whole."""

    slots = 1

    def update_(self, weights, gradient, slots, learning_rate):
        slots[0].mul_(0.5).add_(gradient.div_(gradient.norm()))
        weights.sub_(slots[0], alpha=learning_rate)


@pytest.fixture(params=list(available_engines()))
def engine(request, reference):
    return make_engine(request.param, reference.network(), recorded_dataset(reference))


@pytest.mark.parametrize("schedule", ["constant", "linear"])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "nesterov"])
def test_trajectories_are_the_authors(engine, reference, optimiser, schedule):
    given = {"learning_rate": 0.05} | ({} if optimiser == "sgd" else {"momentum": 0.9})
    rule = make_rule(optimiser, schedule, given | (LINEAR if schedule == "linear" else {}))
    mask = reference.flat("mask/0.9").bool()
    replica = engine.replica(beginning(reference.flat("w"), rule.optimiser.slots), mask=mask)
    losses = replica.advance(torch.arange(640).view(20, 32).unbind(), rule, 0)
    recorded = reference.training[f"{optimiser}/{schedule}/loss"]
    assert losses.numpy() == pytest.approx(recorded, abs=1e-4)
    weights = replica.snapshot().weights
    expected = reference.flat(f"{optimiser}/{schedule}/w", training=True)
    assert (weights - expected).abs().max() < 1e-4
    assert not weights[~mask].any()


def test_gradient_and_margins(engine, reference):
    replica = engine.replica(beginning(reference.flat("w")))
    loss, gradient = replica.gradient(torch.arange(64))
    assert loss == pytest.approx(float(reference.arrays["logits/loss"]), abs=1e-5)
    assert agree(gradient, reference.flat("grad"))
    right = replica.margins(torch.arange(64)) > 0
    assert torch.equal(right, torch.from_numpy(reference.arrays["logits/correct"]).bool())


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "nesterov", "tests_own"])
def test_a_step_with_a_given_gradient_is_a_step(engine, reference, optimiser):
    given = {"learning_rate": 0.05} | ({} if optimiser == "sgd" else {"momentum": 0.9})
    own = Rule(Own(), make_rule("sgd", "constant", {"learning_rate": 1.0}).schedule, 0.05)
    rule = own if optimiser == "tests_own" else make_rule(optimiser, "linear", given | LINEAR)
    mask = reference.flat("mask/0.9").bool()
    at_once, by_hand = (engine.replica(beginning(reference.flat("w"), rule.optimiser.slots), mask=mask) for _ in "ab")
    batches = torch.arange(96).view(3, 32).unbind()
    losses = at_once.advance(batches, rule, 4)
    for index, batch in enumerate(batches):
        loss, gradient = by_hand.gradient(batch)
        kept = gradient.clone()
        by_hand.update(gradient, rule, 4 + index)
        assert torch.equal(gradient, kept)
        assert loss == pytest.approx(losses[index].item(), abs=1e-5)
    ours, theirs = by_hand.snapshot(), at_once.snapshot()
    assert torch.allclose(ours.weights, theirs.weights, atol=1e-6)
    assert not ours.weights[~mask].any()
    assert all(torch.allclose(*pair, atol=1e-5) for pair in zip(ours.slots, theirs.slots, strict=True))


@pytest.mark.parametrize("size", [1, 17, 150])
def test_any_batch_size_is_the_plain_engines(engine, reference, size):
    plain = make_engine("plain", reference.network(), recorded_dataset(reference))
    generator = torch.Generator().manual_seed(size)
    rule = make_rule("nesterov", "constant", {"learning_rate": 0.02, "momentum": 0.8})
    mask = reference.flat("mask/0.5").bool()
    batches = [torch.randint(2000, (size,), generator=generator) for _ in range(3)]
    ends = []
    for which in (engine, plain):
        replica = which.replica(beginning(reference.flat("w")), mask=mask)
        ends.append((replica.advance(batches, rule, 0), replica.snapshot(), replica.margins(batches[0])))
    (losses, ours, margins), (plain_losses, theirs, plain_margins) = ends
    assert torch.allclose(losses, plain_losses, atol=1e-5)
    assert agree(margins, plain_margins, 1e-3)
    assert agree(ours.weights, theirs.weights)
    assert agree(ours.slots[0], theirs.slots[0])


def test_in_parts_equals_whole_and_neighbours_do_not_matter(engine, reference):
    rule = make_rule("momentum", "linear", {"learning_rate": 0.05, "momentum": 0.9} | LINEAR)
    batches = torch.arange(12 * 24).view(12, 24).unbind()
    whole = engine.replica(beginning(reference.flat("w")))
    losses = whole.advance(batches, rule, 0)
    parts, neighbour = (
        engine.replica(beginning(reference.flat("w"))),
        engine.replica(beginning(reference.flat("w") * 2)),
    )
    pieces = [parts.advance(batches[:5], rule, 0)]
    neighbour.advance(batches[3:4], rule, 0)
    neighbour.margins(torch.arange(50))
    saved = parts.snapshot()
    parts.advance(batches[5:9], rule, 5)
    parts = engine.replica(saved)
    pieces.append(parts.advance(batches[5:], rule, 5))
    assert torch.equal(torch.cat(pieces), losses)
    ours, theirs = parts.snapshot(), whole.snapshot()
    assert torch.equal(ours.weights, theirs.weights)
    assert torch.equal(ours.slots[0], theirs.slots[0])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_seen(engine, reference, value):
    weights = reference.flat("w")
    weights[400 + 40] = value
    replica = engine.replica(beginning(weights))
    losses = replica.advance([torch.arange(8)] * 2, make_rule("sgd", "constant", {"learning_rate": 0.1}), 0)
    assert not torch.isfinite(losses[-1]) or not torch.isfinite(replica.snapshot().weights).all()
    assert not torch.isfinite(replica.snapshot().weights).all()


def test_margins_by_a_loop():
    logits = torch.tensor([[1.0, 3.0, 2.0], [2.0, 2.0, 0.0], [0.0, float("nan"), 1.0]])
    margins = label_margins(logits, torch.tensor([1, 0, 2]))
    assert margins[:2].tolist() == [1.0, 0.0]
    assert not margins[2] > 0


def test_a_device_that_is_not_there_is_refused(simple_cnn_reference):
    network, data = simple_cnn_reference.network(), recorded_dataset(simple_cnn_reference)
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="allowed: cpu"):
            make_engine("auto", network, data, device="cuda:1")
    assert make_engine("auto", network, data, device="cpu").device.type == "cpu"
    with pytest.raises(UsageError, match="allowed are auto, native, traced, plain"):
        make_engine("fast", network, data)


def test_on_another_device_everything_asked_for_comes_back_to_the_cpu(simple_cnn_reference):
    """The meta device computes nothing, but refuses any tensor that was left behind on the CPU."""
    data = recorded_dataset(simple_cnn_reference)
    engine = PlainEngine(simple_cnn_reference.network(), data, torch.device("meta"))
    assert {p.device.type for p in engine.network.parameters()} == {"meta"}
    assert engine.dataset.images.device.type == "meta"
    assert data.images.device.type == "cpu"
