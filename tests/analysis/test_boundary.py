"""Is the best point near an edge, and where to look next."""

from __future__ import annotations

import tomllib

import pytest
from made_up import GOAL, cell

from parsity.analysis import CurveCell, advise, edge_verdicts, to_paste, unit_of
from parsity.metaparameters import Choice, Integer, Linear, Log, ReverseLog, Space

SCALES = [Log(1e-4, 1.0), ReverseLog(0.9, 0.9999), Linear(-3.0, 5.0)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("unit", [0.0, 0.1, 0.5, 0.99])
def test_units_are_the_inverse_of_values(scale, unit):
    assert unit_of(scale, scale.value(unit)) == pytest.approx(unit)


def test_units_of_integers():
    scale = Integer(30, 60)
    for unit in (0.0, 0.31, 0.5, 0.99):
        assert scale.value(unit_of(scale, scale.value(unit))) == scale.value(unit)


def verdicts(name, scale, units, *, space=None, steps=None, **known):
    """The verdicts where trial i, at ``units[i]``, needs 100 + 5 i steps."""
    points = [{name: scale.value(unit)} for unit in units]
    steps = steps or [100.0 + 5 * i for i in range(len(units))]
    one = CurveCell.of(cell(steps, metaparameters=points, **known), GOAL)
    return edge_verdicts(one, space or Space({name: scale}))


@pytest.mark.parametrize(
    ("units", "verdict"),
    [
        ([0.5, 0.01, 0.02, 0.99], "interior"),
        ([0.05, 0.12, 0.2, 0.6], "low"),
        ([0.95, 0.88, 0.8, 0.6], "high"),
        ([0.95, 0.5, 0.4, 0.6], "cannot be said"),
        ([0.95, 0.9], "cannot be said"),
    ],
)
def test_the_verdict(units, verdict):
    (found,) = verdicts("learning_rate", Log(1e-4, 1.0), units)
    assert found.verdict == verdict
    assert found.position == pytest.approx(units[0])
    assert found.best == pytest.approx(10 ** (-4 + 4 * units[0]))


def test_trials_far_behind_the_best_do_not_count():
    (found,) = verdicts("learning_rate", Log(1e-4, 1.0), [0.95, 0.9, 0.1, 0.2], steps=[100.0, 110, 200, 200])
    assert found.verdict == "cannot be said"
    assert "only 2" in found.why


def test_the_side_is_that_of_the_value_not_of_the_scale():
    (found,) = verdicts("momentum", ReverseLog(0.9, 0.9999), [0.95, 0.9, 0.85])
    assert found.verdict == "low"
    assert found.best == pytest.approx(1 - 10**-1.15)


def test_fixed_values_and_choices_have_no_edge():
    space = Space({"momentum": Choice((0.9,)), "learning_rate": Choice((0.1, 0.2))})
    assert verdicts("learning_rate", Log(0.1, 1.0), [0.5, 0.6, 0.7], space=space) == ()
    assert verdicts("learning_rate", Log(0.1, 1.0), [0.5], steps=[900.0], limit=500) == ()


def advice_for(name, scale, *cells):
    space = Space({name: scale})
    found = [one for units in cells for one in verdicts(name, scale, units)]
    advice = advise(found, space)
    text = to_paste(advice, space)
    parsed = Space.from_spec(tomllib.loads(text)["space"]) if text else None
    return advice[0], parsed.scales[name] if parsed else None


def test_an_interior_best_asks_for_nothing():
    advice, pasted = advice_for("learning_rate", Log(1e-4, 1.0), [0.5, 0.6, 0.4], [0.3, 0.2, 0.5])
    assert advice.interior == 2
    assert advice.suggested is None
    assert pasted is None


def test_the_range_moves_towards_the_edge():
    advice, pasted = advice_for("learning_rate", Log(1e-4, 1.0), [0.95, 0.9, 0.85], [0.7, 0.6, 0.8])
    assert (advice.high, advice.interior) == (1, 1)
    assert pasted == advice.suggested
    assert pasted.high == pytest.approx(100)
    assert pasted.low == pytest.approx(10 ** (-4 + 4 * 0.5), rel=0.05)


def test_edges_on_both_sides_widen_the_range():
    _, pasted = advice_for("learning_rate", Log(1e-4, 1.0), [0.95, 0.9, 0.85], [0.05, 0.1, 0.15])
    assert (pasted.low, pasted.high) == (pytest.approx(1e-6), pytest.approx(100))


def test_ranges_stay_possible():
    _, low = advice_for("momentum", ReverseLog(0.9, 0.9999), [0.95, 0.9, 0.85])
    assert low.low == 0
    assert low.high == pytest.approx(1 - 10**-1.75, abs=1e-3)
    _, high = advice_for("momentum", ReverseLog(0.9, 0.9999), [0.05, 0.1, 0.15])
    assert high.high == pytest.approx(1 - 3.2e-6)
    _, factor = advice_for("end_learning_rate_factor", Log(1e-4, 1e-1), [0.95, 0.9, 0.85])
    assert factor.high == 1
    _, steps = advice_for("decay_steps", Integer(10, 40), [0.05, 0.1, 0.15])
    assert steps.low == 1
    assert isinstance(steps, Integer)


def test_one_cell_of_many_is_chance():
    cells = [[0.5, 0.6, 0.4]] * 20
    advice, pasted = advice_for("learning_rate", Log(1e-4, 1.0), [0.95, 0.9, 0.85], *cells)
    assert advice.high == 1
    assert pasted is None


def test_what_is_pasted_is_the_whole_table():
    space = Space({"learning_rate": Log(1e-4, 1.0), "momentum": Choice((0.9,)), "decay_steps": Choice((1, 2))})
    points = [{"learning_rate": 0.9, "momentum": 0.9, "decay_steps": 1}] * 3
    one = CurveCell.of(cell([100.0, 101, 102], metaparameters=points), GOAL)
    text = to_paste(advise(edge_verdicts(one, space), space), space)
    table = tomllib.loads(text)["space"]
    assert table["momentum"] == 0.9
    assert table["decay_steps"] == {"scale": "choice", "options": [1, 2]}
    assert table["learning_rate"]["high"] == 100
