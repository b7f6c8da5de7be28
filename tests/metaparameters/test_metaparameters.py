"""Spaces and sequences, against the points and values the authors' program used."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsity.errors import UsageError
from parsity.metaparameters import Choice, Integer, Linear, Log, ReverseLog, Space, points

RECORDED = json.loads((Path(__file__).parents[1] / "reference" / "sobol.json").read_text())
PAPER = {
    "learning_rate": Log(1e-4, 1),
    "momentum": ReverseLog(0.9, 0.9999),
    "decay_steps": Integer(30_000, 60_000),
    "end_learning_rate_factor": Log(1e-4, 1e-1),
}


@pytest.mark.parametrize("dimensions", [1, 2])
def test_sobol_points_are_the_authors(dimensions):
    assert np.array_equal(points(dimensions, 1, 100), np.array(RECORDED["unit"][str(dimensions)]))


@pytest.mark.parametrize("names", ["learning_rate", "learning_rate+momentum"])
def test_trials_are_the_authors(names):
    trials = Space({name: PAPER[name] for name in names.split("+")}).trials(1, 100)
    for name, values in RECORDED["metaparameters"][names].items():
        assert [trial[name] for trial in trials] == pytest.approx(values, rel=1e-12), name


def test_every_scale_maps_as_the_authors_do():
    """In four dimensions the recorded points differ from SciPy's, but a recorded point must map to its values."""
    recorded = RECORDED["metaparameters"]["+".join(PAPER)]
    for index, unit in enumerate(RECORDED["unit"]["4"]):
        for u, (name, scale) in zip(unit, PAPER.items(), strict=True):
            assert scale.value(u) == pytest.approx(recorded[name][index], rel=1e-12)


@given(st.integers(1, 4), st.integers(0, 60), st.integers(0, 40), st.sampled_from(["sobol", "halton"]))
def test_a_point_does_not_depend_on_how_many_are_asked_for(dimensions, first, count, sequence):
    every = points(dimensions, 0, 100, sequence=sequence)
    assert np.array_equal(points(dimensions, first, count, sequence=sequence), every[first : first + count])


@pytest.mark.parametrize("dimensions", [1, 3, 4])
def test_sobol_fills_every_dyadic_interval(dimensions):
    """A (t, s)-sequence: each coordinate of its first 2^k points meets each of 2^k equal intervals once."""
    for column in points(dimensions, 0, 64).T:
        assert sorted((column * 64).astype(int)) == list(range(64))


def test_halton_is_the_radical_inverse():
    def radical_inverse(index: int, base: int) -> float:
        value, scale = 0.0, 1.0
        while index:
            scale /= base
            index, digit = divmod(index, base)
            value += digit * scale
        return value

    slow = [[radical_inverse(i, base) for base in (2, 3, 5)] for i in range(1, 40)]
    assert points(3, 1, 39, sequence="halton") == pytest.approx(np.array(slow))


def test_a_fixed_metaparameter_takes_no_dimension():
    free = Space({"learning_rate": PAPER["learning_rate"]})
    fixed = Space.from_spec({"momentum": 0.9, "learning_rate": {"scale": "log", "low": 1e-4, "high": 1}})
    assert [t["learning_rate"] for t in fixed.trials(1, 9)] == [t["learning_rate"] for t in free.trials(1, 9)]
    assert fixed.trial(3)["momentum"] == 0.9
    assert Space({}).trials(1, 2) == [{}, {}]


def test_choice_shares_the_interval_equally():
    drawn = [trial["depth"] for trial in Space({"depth": Choice((1, 2, 4, 8))}).trials(1, 63)]
    assert sorted(drawn.count(option) for option in (1, 2, 4, 8)) == [15, 16, 16, 16]


def test_a_space_survives_plain_data():
    space = Space({**PAPER, "cut": Linear(0, 2), "kind": Choice(("a", "b")), "fixed": Choice((3,))})
    assert Space.from_spec(json.loads(json.dumps(space.to_spec()))) == space


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"scale": "log", "low": 0, "high": 1}, "0 < low < high"),
        ({"scale": "log", "low": 1, "high": 0.1}, "0 < low < high"),
        ({"scale": "linear", "low": 2, "high": 2}, "low < high"),
        ({"scale": "linear", "low": 0, "high": float("inf")}, "low < high"),
        ({"scale": "reverse-log", "low": 0.9, "high": 1.0}, "low < high < 1"),
        ({"scale": "integer", "low": 1.5, "high": 3}, "whole numbers"),
        ({"scale": "log", "low": "a", "high": 1}, "learning_rate"),
        ({"scale": "log", "low": 1}, "takes low and high, found low"),
        ({"scale": "choice", "options": []}, "at least one option"),
        ({"scale": "exponential", "low": 1, "high": 2}, "is not one of linear, log"),
    ],
)
def test_an_impossible_range_is_one_clear_line(entry, words):
    with pytest.raises(UsageError, match=words) as error:
        Space.from_spec({"learning_rate": entry})
    assert str(error.value).startswith("learning_rate: ")
    assert "\n" not in str(error.value)


def test_trials_are_numbered_from_one():
    with pytest.raises(UsageError, match="numbered from 1"):
        Space(PAPER).trial(0)


def test_an_unknown_sequence_is_refused():
    with pytest.raises(UsageError, match="sobol, halton"):
        points(1, 1, 1, sequence="random")
