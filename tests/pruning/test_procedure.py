"""From criterion to masks: one pass for all sparsities, rounds on a schedule, and a choice of who takes part."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from parsity.errors import UsageError
from parsity.models import SimpleCNN, make_network
from parsity.pruning import (
    CRITERIA,
    Layout,
    Mask,
    Random,
    SynFlow,
    eligible_entries,
    flatten,
    kept_number,
    masks,
    prune,
    scores,
    select,
)


def _network() -> nn.Module:
    return make_network(lambda: nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 3)), seed=0)


def _batches():
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(4, 6, generator=generator), torch.randint(0, 3, (4,), generator=generator)) for _ in range(3)]


@dataclass
class _Recorder:
    """Scores by magnitude, and remembers how much was left each time."""

    rounds: int = 1
    left: list[int] = field(default_factory=list)

    def scores(self, network, batches, *, seed):
        self.left.append(int((flatten(network) != 0).sum()))
        return flatten(network).abs()


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(
    ("eligible", "taking_part"), [("all", 103), ("weights", 90), (["0.weight"], 60)], ids=["all", "weights", "one"]
)
def test_every_criterion_keeps_exactly_what_is_asked(name, eligible, taking_part):
    network = _network()
    left_out = ~eligible_entries(network, eligible)

    found = masks(network, _batches(), [0, 0.5, 0.7], criterion=name, eligible=eligible)

    for sparsity, mask in found.items():
        assert mask.kept == 103 - taking_part + kept_number(taking_part, sparsity)
        assert bool(mask.flat[left_out].all())


def test_one_pass_serves_all_sparsities():
    recorder = _Recorder()

    found = masks(_network(), _batches(), [0.9, 0.5, 0.0], criterion=recorder)

    assert len(recorder.left) == 1
    assert list(found) == [0.9, 0.5, 0.0]
    assert bool((found[0.5].flat | ~found[0.9].flat).all())  # the sparser one is within the denser one
    assert found[0.0] == Mask.dense(_network())


def test_no_pass_at_all_for_a_dense_network():
    recorder = _Recorder(rounds=5)

    assert prune(_network(), _batches(), sparsity=0, criterion=recorder).density == 1
    assert recorder.left == []


def test_rounds_follow_the_exponential_schedule():
    network = _network()
    for parameter in network.parameters():
        parameter.data.uniform_(0.1, 1)
    recorder = _Recorder(rounds=4)

    mask = prune(network, _batches(), sparsity=0.9, criterion=recorder)

    assert recorder.left == [103, *[round(103 * 0.1 ** (i / 4)) for i in (1, 2, 3)]]
    assert mask.kept == kept_number(103, 0.9)


def test_what_one_round_prunes_no_later_round_brings_back():
    """Scores that rise where a weight has gone would bring it back, were it asked again."""

    class Perverse:
        rounds = 3

        def scores(self, network, batches, *, seed):
            weights = flatten(network).abs()
            return torch.where(weights == 0, 1e9, weights)

    network = _network()
    for parameter in network.parameters():
        parameter.data.uniform_(0.1, 1)

    kept = prune(network, _batches(), sparsity=0.5, criterion=Perverse()).flat

    assert torch.equal(kept, select(flatten(network).abs(), 0.5))


def test_synflow_in_rounds_keeps_layers_that_one_round_empties():
    """What the rounds are for."""
    network = make_network(SimpleCNN, seed=0)
    batches = [(torch.zeros(1, 1, 28, 28), torch.zeros(1, dtype=torch.long))]

    def emptied(criterion: SynFlow) -> list[str]:
        mask = prune(network, batches, sparsity=0.99, criterion=criterion, eligible="weights")
        return [row.name for row in mask.report() if row.kept == 0]

    assert emptied(SynFlow(rounds=1)) == ["conv2.weight", "linear.weight"]
    assert emptied(SynFlow(rounds=20)) == []


def test_the_seed_matters_to_random_pruning():
    first, again, other = (prune(_network(), [], sparsity=0.5, criterion="random", seed=s) for s in (1, 1, 2))

    assert first == again != other


def test_a_network_that_overflows_is_named_as_such():
    network = _network()
    network[0].weight.data[0, 0] = torch.inf

    with pytest.raises(UsageError, match="entry 0 has"):
        prune(network, _batches(), sparsity=0.5, criterion="snip")


def test_a_criterion_with_the_wrong_number_of_scores_is_refused():
    class Short:
        rounds = 1

        def scores(self, network, batches, *, seed):
            return torch.ones(5)

    with pytest.raises(UsageError, match="one score for each of 103 parameters"):
        scores(_network(), _batches(), criterion=Short())


@pytest.mark.parametrize("sparsity", [1, -0.5])
def test_impossible_sparsities_are_refused_before_any_work(sparsity):
    recorder = _Recorder()

    with pytest.raises(UsageError, match="at least 0 and below 1"):
        masks(_network(), _batches(), [0.5, sparsity], criterion=recorder)
    assert recorder.left == []


def test_pruning_then_applying_leaves_exact_zeros():
    network = _network()
    mask = prune(network, _batches(), sparsity=0.7)

    mask.apply_(network)

    assert torch.equal(flatten(network) == 0, ~mask.flat | (flatten(_network()) == 0))
    assert Layout.of(network) == mask.layout


def test_rounds_below_one_are_refused():
    with pytest.raises(UsageError, match="rounds"):
        prune(_network(), _batches(), sparsity=0.5, criterion=Random(rounds=0))


def test_batches_that_end_for_good_are_refused():
    with pytest.raises(UsageError, match="several times"):
        masks(_network(), iter(_batches()), [0.5])
