"""Forecasts against curves whose truth is constructed: what they say, and how often they are right."""

import math

import numpy as np
import pytest
from made_up import cell
from scipy.stats import t as student

from parsity.analysis import Estimate, PredictedRatio, curves, forecast
from parsity.analysis.forecast import BEND, FREEDOM, LOOSE, SCATTER, SCATTER_FREEDOM, USUAL

SIZES = tuple(2**power for power in range(2, 12))


def law(batch, c1=40_000.0, c2=80.0, s=1.0):
    return ((c1 / batch) ** s + c2**s) ** (1 / s)


def curve(steps, sizes=SIZES, sparsity=0.0):
    cells = [cell([float(need)], batch_size=size, sparsity=sparsity) for size, need in zip(sizes, steps, strict=True)]
    return curves(cells)[0]


def theory(c1, beta, width=1.2, betas=None):
    lipschitz = Estimate(value=c1 / beta, low=c1 / beta / width, high=c1 / beta * width, n=50)
    return PredictedRatio(
        sparsity=0.9,
        against=0.0,
        delta=1.0,
        beta=beta,
        lipschitz=lipschitz,
        c1=lipschitz.scaled(beta),
        betas=betas or {0: beta},
    )


DENSE = curve([law(size) for size in SIZES])
SPARSE = curve([law(size, 120_000, 160) for size in SIZES], sparsity=0.9)


def test_two_cells_of_a_curve_of_the_same_form_give_it():
    found = forecast(DENSE, 0.9, cells=[SPARSE.cells[0], SPARSE.cells[-1]], truths=SPARSE.cells)
    assert found.used == (4, 2048)
    assert found.c1_ratio.value == pytest.approx(3, rel=0.03)
    assert found.c2_ratio.value == pytest.approx(2, rel=0.03)
    assert found.typically_off < 0.05
    assert len(found.checked) == 8
    assert all(point.within for point in found.checked)
    for point in found.points:
        assert point.steps.value == pytest.approx(law(point.batch_size, 120_000, 160), rel=0.03)


def test_one_cell_fixes_its_end_and_leaves_the_other_wide():
    def widths(place):
        points = forecast(DENSE, 0.9, cells=[SPARSE.cells[place]]).points
        return [math.log(point.steps.high / point.steps.low) for point in points]

    small, large = widths(0), widths(-1)
    assert small[0] == min(small)
    assert large[-1] == min(large)
    assert small[-1] > 1.5 * small[1]
    assert large[0] > 1.5 * large[-2]


def test_constants_alone_lead_towards_what_the_theory_says_and_leave_it_wide():
    steady = {0: 0.54, 1000: 0.54}
    alone = forecast(DENSE, 0.9, constants=theory(1.67, 0.54, betas=steady))
    more = forecast(DENSE, 0.9, constants=theory(6.0, 0.54, betas=steady))
    assert 1.4 < alone.c1_ratio.value < 2.3 < alone.c2_ratio.value < 3.1
    assert more.c1_ratio.value > 1.5 * alone.c1_ratio.value
    assert more.c2_ratio.value > 1.5 * alone.c2_ratio.value
    assert alone.points[0].steps.high / alone.points[0].steps.low > 8
    both = forecast(DENSE, 0.9, constants=theory(1.67, 0.54), cells=[SPARSE.cells[0], SPARSE.cells[-1]])
    assert both.c1_ratio.value == pytest.approx(3, rel=0.05)
    # What is known less of is believed less: an L of few points, a beta that is another one later.
    for less in (theory(6.0, 0.54, width=5, betas=steady), theory(6.0, 0.54, betas={0: 0.05, 100: 5.83})):
        vague = forecast(DENSE, 0.9, constants=less)
        assert vague.c1_ratio.high / vague.c1_ratio.low > 1.1 * more.c1_ratio.high / more.c1_ratio.low
    assert forecast(DENSE, 0.9, constants=theory(6.0, 0.54, width=5, betas=steady)).c1_ratio.value < more.c1_ratio.value


def test_right_constants_narrow_what_one_cell_leaves_open():
    """Beta tells how far c2's ratio is from c1's; a cell at a small batch alone does not."""
    without = forecast(DENSE, 0.9, cells=[SPARSE.cells[0]])
    given = forecast(DENSE, 0.9, cells=[SPARSE.cells[0]], constants=theory(3.0, 1.5, betas={0: 1.5, 100: 1.5}))
    truth = law(2048, 120_000, 160)
    assert abs(math.log(given.points[-1].steps.value / truth)) < abs(math.log(without.points[-1].steps.value / truth))


def test_a_noisy_known_curve_makes_forecasts_wide():
    wild = np.exp(0.5 * np.random.default_rng(0).standard_normal(len(SIZES)))
    noisy = forecast(curve([law(size) * luck for size, luck in zip(SIZES, wild, strict=True)]), 0.9, cells=SPARSE.cells)
    calm = forecast(DENSE, 0.9, cells=SPARSE.cells)
    assert noisy.scatter > 2 * calm.scatter
    assert noisy.points[3].steps.high / noisy.points[3].steps.low > calm.points[3].steps.high / calm.points[3].steps.low


def test_fewer_than_three_cells_of_the_known_curve_tell_nothing():
    assert forecast(curve([100, 50], sizes=(4, 8)), 0.9, cells=SPARSE.cells) is None


def test_it_is_the_same_each_time_and_in_any_order():
    one = forecast(DENSE, 0.9, cells=[SPARSE.cells[2], SPARSE.cells[7]], batch_sizes=(16, 1024))
    other = forecast(DENSE, 0.9, cells=[SPARSE.cells[7], SPARSE.cells[2]], batch_sizes=(1024, 16))
    assert one == other


def test_against_the_integrals_written_down():
    """One cell, and the posterior of c1's ratio by plain sums over (level, bend), with the fit's error by its hat."""
    sizes = np.array([4, 32, 256, 2048])
    known = curve([law(size) for size in sizes], sizes=tuple(map(int, sizes)))
    found = forecast(known, 0.9, cells=curve([30_000.0], sizes=(4,), sparsity=0.9).cells)
    steep = 40_000 / sizes / (40_000 / sizes + 80)
    jacobian = np.column_stack([steep, 1 - steep])
    hat = jacobian @ np.linalg.inv(jacobian.T @ jacobian) @ jacobian.T
    freedom = len(sizes) - 2 + SCATTER_FREEDOM
    level, bend = np.meshgrid(np.linspace(-15, 15, 1501), np.linspace(-12, 12, 1201))
    x1, x2 = level - bend / 2, level + bend / 2
    rest = math.log(30_000) - np.log(np.exp(x1) * 40_000 / 4 + np.exp(x2) * 80)
    squares = SCATTER_FREEDOM * SCATTER**2 + rest**2 / (1 + hat[0, 0])
    density = student.pdf((level - USUAL) / LOOSE, FREEDOM) * student.pdf(bend / BEND, FREEDOM)
    density *= squares ** (-(freedom + 1) / 2)
    order = np.argsort(x1.ravel())
    heights = np.cumsum(density.ravel()[order]) / density.sum()
    for p, side in ((0.025, found.c1_ratio.low), (0.5, found.c1_ratio.value), (0.975, found.c1_ratio.high)):
        assert math.log(side) == pytest.approx(float(np.interp(p, heights, x1.ravel()[order])), abs=0.02)


@pytest.mark.parametrize(("count", "least"), [(1, 0.93), (2, 0.93)])
def test_intervals_hold_as_often_as_they_say(count, least):
    """Curves, knees, ratios and noise at random, not from what the forecast believes; 95 % should be inside."""
    rng = np.random.default_rng(count)
    inside, spans = [], []
    for _ in range(40):
        number = int(rng.integers(4, 10))
        sizes = SIZES[:number]
        s, c1 = rng.choice([1.0, 1.5, 2.0, 3.0]), 10 ** rng.uniform(4, 5.5)
        c2, noise = c1 / 2 ** rng.uniform(4, 11), rng.uniform(0.03, 0.25)
        rho1, rho2 = rng.uniform(1, 5), rng.uniform(1, 4)
        luck = np.exp(noise * rng.standard_normal((2, number)))
        known = curve([law(size, c1, c2, s) * one for size, one in zip(sizes, luck[0], strict=True)], sizes)
        truth = [law(size, rho1 * c1, rho2 * c2, s) * one for size, one in zip(sizes, luck[1], strict=True)]
        cells = curve(truth, sizes, 0.9).cells
        chosen = [cells[place] for place in rng.choice(number, count, replace=False)]
        found = forecast(known, 0.9, cells=chosen, truths=cells)
        inside += [point.within for point in found.checked]
        spans += [math.log(point.steps.high / point.steps.low) for point in found.checked]
    assert least <= np.mean(inside) <= 0.995
    # And yet they say something: typically within a factor of 2 to either side.
    assert np.median(spans) < math.log(4)
