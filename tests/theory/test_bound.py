"""The equations of docs/theory.md, by algebra, and the code against them."""

from __future__ import annotations

import math

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from parsity.theory import Assumptions, Decay, predicted_ratio, steps_of_schedule

L, DELTA, BETA, MU, M_G, ETA, B, K, EPSILON = sympy.symbols("L Delta beta mu M_G eta B K epsilon", positive=True)
BOUND = ETA * L * BETA / (MU * B) + DELTA / (MU * ETA * K)
STEPS = sympy.solve(sympy.Eq(BOUND, EPSILON), K)[0]
LIMIT = MU / (L * M_G)

CONSTANTS = st.builds(
    Assumptions,
    lipschitz=st.floats(0.01, 100),
    delta=st.floats(0.01, 100),
    beta=st.floats(0.01, 1000),
    mu=st.floats(0.1, 1),
    m_g=st.floats(1, 10),
)
GOALS, BATCHES, SHARES = st.floats(1e-4, 1), st.floats(1, 1e5), st.floats(0.01, 1)


IN_NUMBERS = sympy.lambdify(
    [L, DELTA, BETA, MU, M_G, EPSILON, B, ETA], [1 / STEPS, LIMIT, DELTA / (MU * ETA * EPSILON)]
)


def test_one_step_descends_up_to_the_limit():
    """(2) to (3): -eta mu G + eta^2 L (M + M_G G)/2 is at most -eta mu G/2 + eta^2 L M/2 where eta <= mu / (L M_G)."""
    gradient, noise = sympy.symbols("G M", positive=True)
    descent = -ETA * MU * gradient + ETA**2 * L / 2 * (noise + M_G * gradient)
    claimed = -ETA * MU * gradient / 2 + ETA**2 * L * noise / 2
    slack = sympy.factor(claimed - descent)
    assert sympy.simplify(slack.subs(ETA, LIMIT)) == 0
    share = sympy.symbols("share", positive=True)
    assert sympy.simplify(slack.subs(ETA, share * LIMIT) / (share * (1 - share))).is_positive


def test_summing_the_steps_gives_the_bound():
    """(4) to (5): sum (eta mu G_k/2) <= Delta/2 + K eta^2 L beta/(2 B), divided by K eta mu/2."""
    summed = (DELTA / 2 + K * ETA**2 * L * BETA / (2 * B)) / (K * ETA * MU / 2)
    assert sympy.simplify(summed - BOUND) == 0


def test_proposition_4_1_is_the_expansion_for_large_batches():
    """(6) to (7): to first order in 1/B, K = c1/B + c2, and c1 does not depend on the rate."""
    x = sympy.symbols("x", positive=True)
    c2, c1 = sympy.Poly(sympy.series(STEPS.subs(B, 1 / x), x, 0, 2).removeO(), x).all_coeffs()[::-1]
    assert sympy.simplify(c1 - DELTA * L * BETA / (MU * EPSILON) ** 2) == 0
    assert sympy.simplify(c2 - DELTA / (MU * ETA * EPSILON)) == 0
    assert sympy.diff(sympy.simplify(c1), ETA) == 0
    # What is left out is positive: the formula is below the bound at every batch.
    assert sympy.factor(STEPS - c1 / B - c2).subs({ETA: B * MU * EPSILON / (2 * L * BETA)}).simplify().is_positive


def test_the_best_rate_and_its_steps():
    """(9), (10): the optimum within the limit, linear scaling up to twice the critical batch, twice c2 there."""
    best = sympy.solve(sympy.diff(STEPS, ETA), ETA)
    assert len(best) == 1
    assert sympy.simplify(best[0] - MU * EPSILON * B / (2 * L * BETA)) == 0
    c1, c2 = DELTA * L * BETA / (MU * EPSILON) ** 2, DELTA / (MU * LIMIT * EPSILON)
    assert sympy.simplify(STEPS.subs(ETA, best[0]) - 4 * c1 / B) == 0
    knee = sympy.solve(sympy.Eq(best[0], LIMIT), B)[0]
    assert sympy.simplify(knee - 2 * c1 / c2) == 0
    assert sympy.simplify(c1 / c2 - BETA / (EPSILON * M_G)) == 0
    assert sympy.simplify(STEPS.subs(ETA, LIMIT) - c2 / (1 - c1 / c2 / B)) == 0
    assert sympy.simplify(STEPS.subs({ETA: LIMIT, B: knee}) - 2 * c2) == 0


def test_decaying_rates():
    """(11), (12): weighing each step by its rate, the means of s and s^2 enter as the code has them."""
    first, second = sympy.symbols("s_1 s_2", positive=True)
    bound = (DELTA + L * BETA / B * ETA**2 * K * second) / (MU * ETA * K * first)
    steps = sympy.solve(sympy.Eq(bound, EPSILON), K)[0]
    x = sympy.symbols("x", positive=True)
    c2, c1 = sympy.Poly(sympy.series(steps.subs(B, 1 / x), x, 0, 2).removeO(), x).all_coeffs()[::-1]
    assert sympy.simplify(c1 * first**2 / second - DELTA * L * BETA / (MU * EPSILON) ** 2) == 0
    assert sympy.simplify(c2 * first - DELTA / (MU * ETA * EPSILON)) == 0
    u, end = sympy.symbols("u e", positive=True)
    linear = 1 - (1 - end) * u
    found = Decay.linear(0.1)
    assert found.mean == pytest.approx(float(sympy.integrate(linear, (u, 0, 1)).subs(end, 0.1)))
    assert found.mean_square == pytest.approx(float(sympy.integrate(linear**2, (u, 0, 1)).subs(end, 0.1)))
    assert found.of_c1 == pytest.approx(found.mean_square / found.mean**2)
    assert found.of_c1 > 1
    assert Decay.linear(1.0) == Decay(1.0, 1.0)


@given(CONSTANTS, GOALS, BATCHES, SHARES)
def test_the_code_is_the_algebra(constants, goal, batch, share):
    rate = share * constants.rate_limit
    known = (constants.lipschitz, constants.delta, constants.beta, constants.mu, constants.m_g, goal, batch, rate)
    inverse, limit, c2 = IN_NUMBERS(*known)
    steps = constants.steps(goal, rate, batch)
    assert constants.rate_limit == pytest.approx(limit)
    assert constants.c2(goal, rate) == pytest.approx(c2)
    # One over the steps is zero where the floor is at the goal, and negative where it is above.
    assert 1 / steps == pytest.approx(max(inverse, 0), rel=1e-6, abs=1e-9 / c2)
    if steps < 1e6 * c2:
        assert constants.bound(rate, batch, steps) == pytest.approx(goal)
    assert constants.critical_batch(goal) == pytest.approx(constants.c1(goal) / constants.c2(goal))


@given(CONSTANTS, GOALS, BATCHES)
def test_no_rate_of_a_fine_grid_asks_for_fewer_steps_than_the_best(constants, goal, batch):
    fewest = constants.fewest_steps(goal, batch)
    rates = [constants.rate_limit * 10 ** (-6 * i / 500) for i in range(501)]
    assert fewest <= min(constants.steps(goal, rate, batch) for rate in rates) * (1 + 1e-9)
    critical = constants.critical_batch(goal)
    if batch <= 2 * critical:
        assert fewest == pytest.approx(4 * constants.c1(goal) / batch)
    else:
        assert fewest == pytest.approx(constants.c2(goal) / (1 - critical / batch))


def test_steps_of_a_fixed_schedule_are_those_of_the_bound():
    constants = Assumptions(lipschitz=4, delta=3, beta=2, mu=0.9, m_g=1.5)
    rate, batch, goal = 0.1, 200.0, 0.05
    found = steps_of_schedule(constants, goal, (rate for _ in range(10**6)), batch)
    assert found == math.ceil(constants.steps(goal, rate, batch))
    assert steps_of_schedule(constants, goal, [rate] * (found - 1), batch) is None


def test_steps_of_a_stretched_schedule_are_those_of_its_means():
    """A linear decay over just as many steps as it takes: the sums of the sequence against the means of (12)."""
    constants = Assumptions(lipschitz=4, delta=3, beta=2)
    rate, batch, goal, decay = 0.05, 2000.0, 0.05, Decay.linear(0.1)
    steps = constants.c1(goal) * decay.of_c1 / batch + constants.c2(goal, rate) * decay.of_c2
    length = round(steps)
    rates = [rate * (1 - 0.9 * k / length) for k in range(2 * length)]
    assert steps_of_schedule(constants, goal, rates, batch) == pytest.approx(steps, rel=0.01)


def test_a_schedule_that_dies_out_never_arrives():
    constants = Assumptions(lipschitz=4, delta=3, beta=2)
    assert steps_of_schedule(constants, 0.05, (0.1 * 0.9**k for k in range(1000)), 100) is None


def test_the_ratio_of_the_paper():
    """Appendix C: 1.00 x 0.54 x 3.09 = 1.67, from Delta, beta and L at 0 and 90 %."""
    dense = Assumptions(lipschitz=0.57, delta=4.66, beta=197.06)
    sparse = Assumptions(lipschitz=0.57 * 3.09, delta=4.68, beta=107.39)
    assert predicted_ratio(sparse, dense) == pytest.approx(1.69, abs=0.01)
    assert predicted_ratio(sparse, dense) == pytest.approx(sparse.c1(0.1) / dense.c1(0.1))
