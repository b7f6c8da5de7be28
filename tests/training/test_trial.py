"""One trial: whole, in parts, saved and restored; what is not finite; what a check asks."""

import pytest
import torch
from torch import nn

from parsity import Dataset, Workload
from parsity.data import split
from parsity.engines import available_engines, make_engine
from parsity.errors import UsageError
from parsity.metaparameters import Space
from parsity.optimisation import Sgd
from parsity.pruning import flatten
from parsity.results import Complete, Incomplete, Infeasible
from parsity.training import WORKLOADS, Conditions, Trial, derived_seed, workload


def blobs(count=300, seed=0) -> Dataset:
    """Three easily told classes of 1 x 4 x 4 images."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 3
    centres = torch.randn(3, 1, 4, 4, generator=generator)
    images = centres[labels] + 0.3 * torch.randn(count, 1, 4, 4, generator=generator)
    return Dataset.from_tensors(images, labels, name="blobs")


def small_network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))


def a_workload(**changes) -> Workload:
    given = {
        "data": blobs(),
        "network": small_network,
        "optimiser": "momentum",
        "space": Space.from_spec({"learning_rate": {"scale": "log", "low": 0.001, "high": 0.1}, "momentum": 0.9}),
        "goals": (0.02,),
        "check_interval": 4,
        "step_limit": 80,
    }
    return Workload(**(given | changes))


def conditions(work=None, engine="plain", **changes) -> Conditions:
    work = work or a_workload()
    dataset = work.load_data()
    given = {
        "workload": work,
        "batch_size": 10,
        "engine": make_engine(engine, work.make_network(0), dataset),
        "split": split(len(dataset.images)),
    }
    return Conditions(**(given | changes))


def begin(where: Conditions, number=1, mask=None) -> Trial:
    network = where.workload.make_network(derived_seed(where.seed, "weights", number))
    return Trial.begin(where, number, weights=flatten(network), buffers=list(network.buffers()), mask=mask)


def run(trial: Trial) -> Trial:
    while trial.pending:
        trial.work()
    return trial


def same(a: Trial, b: Trial) -> bool:
    x, y = a.save(), b.save()
    tensors = [(x.snapshot.weights, y.snapshot.weights), (x.memory, y.memory)]
    tensors += list(zip(x.snapshot.slots + x.snapshot.buffers, y.snapshot.slots + y.snapshot.buffers, strict=True))
    values = [(s.step, s.outcomes, s.images_looked_at, s.log, s.losses) for s in (x, y)]
    return values[0] == values[1] and all(torch.equal(p, q) for p, q in tensors)


@pytest.mark.parametrize("engine", list(available_engines()))
def test_saved_and_restored_equals_never_stopped(engine):
    where = conditions(engine=engine, log=True)
    whole = run(begin(where))
    mask = None
    trial = begin(where)
    while trial.pending:
        trial.work()
        trial = Trial(where, trial.metaparameters, mask, trial.save())
    assert same(whole, trial)
    assert isinstance(whole.outcomes[0.02], Complete)


def test_the_plain_count_agrees_with_every_check():
    where = conditions(log=True)
    trial = run(begin(where))
    outcome = trial.outcomes[0.02]
    assert outcome.last_miss == outcome.step - 4
    errors = {entry.step: entry.validation_error for entry in trial.log}
    assert errors[outcome.step] <= 0.02
    assert all(error > 0.02 for step, error in errors.items() if step < outcome.step)
    assert [entry.step for entry in trial.log] == list(range(4, outcome.step + 1, 4))
    assert trial.log[0].training_loss > trial.log[-1].training_loss


def test_the_loop_is_plain_training():
    """The same weights as an ordinary torch loop over the same batches."""
    where = conditions()
    trial = begin(where, 3)
    trial.work()
    network = where.workload.make_network(derived_seed(0, "weights", 3))
    rate = where.workload.space.trial(3)["learning_rate"]
    optimiser = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    from parsity.data import Batches

    batches = Batches(270, 10, derived_seed(0, "order", 3))
    data = where.workload.load_data()
    for step in range(4):
        batch = where.split.train[batches.indices(step)]
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(data.images[batch]), data.labels[batch]).backward()
        optimiser.step()
    assert torch.allclose(flatten(network), trial.save().snapshot.weights, atol=1e-6)


def test_several_goals_are_served_by_one_run():
    goals = (0.4, 0.02)
    both = run(begin(conditions(a_workload(goals=goals))))
    for goal in goals:
        alone = run(begin(conditions(a_workload(goals=(goal,)))))
        assert both.outcomes[goal] == alone.outcomes[goal]
    assert both.outcomes[0.4].step <= both.outcomes[0.02].step


def test_incomplete_at_the_limit():
    work = a_workload(space=Space.from_spec({"learning_rate": 1e-9, "momentum": 0.0}))
    trial = run(begin(conditions(work)))
    assert trial.outcomes == {0.02: Incomplete(80)}


class Poisoned(Sgd):
    """Learns nothing, counts its steps in the first weight, and spoils one quantity at one step."""

    where, when, value = "gradient", 0, float("nan")

    def update_(self, weights, gradient, slots, learning_rate):
        # The step is read off the weights, so that a repetition from a snapshot is spoilt at the same place.
        step = round(weights[0].item())
        gradient.zero_()
        gradient[0] = -1
        if step == Poisoned.when and Poisoned.where == "gradient":
            gradient[1] = Poisoned.value
        weights.sub_(gradient)
        if step == Poisoned.when and Poisoned.where == "weight":
            weights[2] = Poisoned.value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["gradient", "weight"])
@pytest.mark.parametrize("when", [0, 1, 6, 7])
def test_infeasible_at_the_step_where_it_first_shows(monkeypatch, where, when, value):
    import parsity.training.trial as trial_module
    from parsity.optimisation import Rule
    from parsity.optimisation.schedules import Constant

    monkeypatch.setattr(Poisoned, "where", where)
    monkeypatch.setattr(Poisoned, "when", when)
    monkeypatch.setattr(Poisoned, "value", value)
    monkeypatch.setattr(trial_module, "make_rule", lambda *_: Rule(Poisoned(), Constant(), 1.0))

    def counting() -> nn.Module:
        network = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
        nn.init.zeros_(network[1].weight)
        return network

    # The counting weight must not be felt: the pixel it belongs to is zero.
    data = blobs()
    data.images[:, 0, 0, 0] = 0
    work = a_workload(data=data, network=counting, step_limit=8, goals=(0.0,))
    trial = run(begin(conditions(work)))
    assert trial.outcomes == {0.0: Infeasible(when)}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("engine", list(available_engines()))
def test_poisoned_weights_are_infeasible_at_once_and_neighbours_unaffected(engine, value):
    where = conditions(engine=engine)
    healthy, neighbour, ill = run(begin(where, 2)), begin(where, 2), begin(where, 1)
    state = ill.save()
    state.snapshot.weights[5] = value
    ill = Trial(where, ill.metaparameters, None, state)
    while neighbour.pending:
        neighbour.work()
        if ill.pending:
            ill.work()
    assert ill.outcomes == {0.02: Infeasible(0)}
    assert same(healthy, neighbour)


def test_an_infinite_loss_with_finite_weights_is_infeasible_too():
    class Overflowing(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(16, 3)

        def forward(self, images):
            return self.linear(images.flatten(1)) * 1e38 * 10

    work = a_workload(network=Overflowing, space=Space.from_spec({"learning_rate": 1e-45, "momentum": 0.0}))
    assert run(begin(conditions(work))).outcomes == {0.02: Infeasible(0)}


def test_batch_norm_and_dropout_are_deterministic():
    def network():
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(16, 3)
        )

    where = conditions(a_workload(network=network))
    first, second = run(begin(where)), begin(where)
    while second.pending:
        second.work()
        second = Trial(where, second.metaparameters, None, second.save())
    assert same(first, second)
    assert first.save().snapshot.buffers[0].abs().sum() > 0


def test_pruned_entries_stay_zero():
    where = conditions()
    weights = flatten(where.workload.make_network(0))
    mask = torch.arange(len(weights)) % 3 == 0
    trial = begin(where, 1, mask)
    for _ in range(5):
        trial.work()
    state = trial.save()
    for vector in (state.snapshot.weights, *state.snapshot.slots):
        assert not vector[~mask].any()


def test_seeds_differ_by_purpose_and_trial():
    seeds = {derived_seed(s, p, t) for s in (0, 1) for p in ("weights", "order", "pruning") for t in range(50)}
    assert len(seeds) == 300
    assert derived_seed(0, "weights", 1) == derived_seed(0, "weights", 1)


def test_the_papers_workloads_are_there():
    assert len(WORKLOADS) == 13
    assert workload("cifar10-nesterov").schedule == "linear"
    assert workload("fashion-mnist-momentum").goals == (0.12, 0.14)
    assert set(workload("cifar10-nesterov").space.scales) == {
        "learning_rate",
        "momentum",
        "decay_steps",
        "end_learning_rate_factor",
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goals": ()}, "at least one goal"),
        ({"goals": (1.5,)}, "at least 0 and below 1"),
        ({"step_limit": 81}, "positive multiple"),
        ({"check_interval": 0}, "positive multiple"),
        ({"optimiser": "sgd"}, "needs learning_rate"),
        ({"optimiser": "adam"}, "momentum, nesterov, sgd"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(changes, words):
    with pytest.raises(UsageError, match=words):
        a_workload(**changes)


def test_an_unknown_workload_suggests():
    with pytest.raises(UsageError, match="did you mean mnist-momentum"):
        workload("mnist-momentun")
