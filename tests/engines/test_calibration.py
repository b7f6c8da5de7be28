"""The choice of an engine: near-ties take the fixed order, choices are remembered, what cannot run is left out."""

import json

import pytest
import torch
from torch import nn

from parsity.data import Dataset
from parsity.engines import ENGINES, Calibrator, available_engines, calibration
from parsity.engines.calibration import MARGIN, fastest, side_by_side
from parsity.engines.remembering import recall, usual_memory
from parsity.optimisation import make_rule
from parsity.results import EngineChoice

RULE = make_rule("momentum", "constant", {"learning_rate": 1.0, "momentum": 0.9})


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))


def with_buffers() -> nn.Module:
    """Of which the plain engine alone is capable."""
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 10))


def data() -> Dataset:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (300, 1, 8, 8), generator=generator).to(torch.uint8)
    return Dataset.from_tensors(images, torch.randint(0, 10, (300,), generator=generator))


def choose(make=network, *, memory=None, batch_size=8, sparsity=0.0, calibrator=None) -> EngineChoice:
    weights = torch.cat([parameter.detach().flatten() for parameter in make().parameters()])
    mask = torch.rand(len(weights), generator=torch.Generator().manual_seed(1)) >= sparsity if sparsity else None
    calibrator = calibrator or Calibrator(make, data(), memory=memory)
    return calibrator.choose(batch_size=batch_size, weights=weights, mask=mask, rule=RULE, sparsity=sparsity)


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({"native": 1.0, "traced": 2.0, "plain": 3.0}, "native"),
        ({"native": 1.0, "traced": 1.0 - 0.8 * MARGIN, "plain": 3.0}, "native"),
        ({"native": 1.0, "traced": 0.5, "plain": 0.49}, "traced"),
        ({"native": 1.0, "traced": 0.5, "plain": 0.3}, "plain"),
        ({"plain": 1.0, "traced": 1.0}, "traced"),
        ({"plain": 7.0}, "plain"),
    ],
)
def test_the_fastest_but_near_ties_take_the_fixed_order(seconds, chosen):
    assert fastest(seconds) == chosen


def test_engines_take_turns_and_their_medians_count(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr(calibration, "stopwatch", lambda device: lambda: clock[0])

    def way(name, *takes):
        left = list(takes)

        def run():
            calls.append(name)
            clock[0] += left.pop(0) if len(left) > 1 else left[0]

        return run

    # One round of each meets a neighbour; the medians do not.
    found = side_by_side({"a": way("a", 9.0, 1.0), "b": way("b", 2.0, 2.0, 50.0, 2.0)}, seconds=1e9)
    assert found == {"a": 1.0, "b": 2.0}
    assert calls[:4] == ["a", "b", "a", "b"]


@pytest.mark.parametrize(("batch_size", "sparsity"), [(3, 0.9), (200, 0.0)])
def test_a_choice_is_of_all_engines_that_there_are(batch_size, sparsity):
    found = choose(batch_size=batch_size, sparsity=sparsity)
    assert found.how == ("measured" if len(available_engines()) > 1 else "given")
    assert set(found.seconds) == set(available_engines())
    assert found.engine == fastest(found.seconds)
    assert all(seconds > 0 for seconds in found.seconds.values())
    assert found.images == min(batch_size, 128)


def test_a_network_that_one_engine_alone_can_run():
    assert choose(with_buffers) == EngineChoice(engine="plain", how="given")


@pytest.fixture
def finds(monkeypatch):
    """Have calibrations find this engine the fastest, without a single step."""

    def set_to(engine):
        found = EngineChoice(engine=engine, how="measured", seconds=dict.fromkeys(available_engines(), 1.0), images=8)
        monkeypatch.setattr(Calibrator, "_measured", lambda *arguments: found)

    return set_to


def test_what_was_found_is_remembered_for_the_same_cell_alone(tmp_path, finds):
    finds("traced")
    assert choose(memory=tmp_path).engine == "traced"
    finds("plain")
    again = choose(memory=tmp_path)
    assert (again.engine, again.how) == ("traced", "remembered")
    assert again.seconds.keys() == available_engines().keys()
    assert choose(memory=tmp_path, sparsity=0.5).engine == "plain"
    assert choose(memory=tmp_path, batch_size=9).engine == "plain"
    # Every batch of more than a slice is timed by its slice.
    assert choose(memory=tmp_path, batch_size=128).how == "measured"
    assert choose(memory=tmp_path, batch_size=4096).how == "remembered"
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("text", ["", "{", "[]", '{"facts": {}}', "null"])
def test_a_memory_that_says_nothing_is_measured_anew(tmp_path, text, finds):
    finds("plain")
    choose(memory=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = json.loads(file.read_text())
    file.write_text(text)
    assert choose(memory=tmp_path).how == "measured"
    for change in ({"engine": "none such"}, {"facts": {**whole["facts"], "processor": "another"}}, {"seconds": 3}):
        file.write_text(json.dumps(whole | change))
        assert choose(memory=tmp_path).how == "measured"
    file.write_text(json.dumps(whole))
    assert choose(memory=tmp_path).how == "remembered"


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path, finds):
    finds("plain")
    (tmp_path / "a file").touch()
    assert choose(memory=tmp_path / "a file").how == "measured"
    assert recall(tmp_path / "a file", {}) is None


def test_where_choices_are_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv("PARSITY_ENGINES_DIR", str(tmp_path))
    assert usual_memory() == tmp_path
    monkeypatch.delenv("PARSITY_ENGINES_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert usual_memory() == tmp_path / "parsity" / "engines"


def test_the_weights_of_a_diverging_trial_do_not_matter():
    """Calibration takes its steps at a rate of 0: no loss becomes infinite, and no weights move."""
    seen = []

    class Watched(Calibrator):
        def _engine(self, name):
            engine = super()._engine(name)
            original = engine.replica

            def replica(*arguments, **named):
                seen.append(original(*arguments, **named))
                return seen[-1]

            engine.replica = replica
            return engine

    choose(calibrator=Watched(network, data()))
    assert len(seen) == len(available_engines()) <= len(ENGINES)
    for one in seen:
        assert one.finite()
        assert torch.equal(one.snapshot().weights, seen[0].snapshot().weights)
