"""What is drawn from c1/B + c2 is found again, with intervals that say the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up import GRID, curve_cells, lognormal, measured_points
from scipy.stats import norm
from test_fitting import B
from test_resampling import drawn

from parsity.analysis import fit, fit_scaling
from parsity.analysis.landmarks import cell_scalings, crossing, landmarks, last_useful
from parsity.analysis.scaling import parameter_ratio

C1, C2 = 60_000.0, 150.0
PARAMETERS = ("c1", "c2", "critical_batch")


def law(batch: float) -> float:
    return C1 / batch + C2


def power(rng, trials, cells, *, shared):
    """Luck whose distribution is the power law that the analysis continues below the best trial."""
    return np.exp(0.3 * norm.logcdf(np.log(lognormal(rng, trials, cells, shared=shared, spread=1.0))))


POPULATIONS = {"lognormal": lognormal, "power": power}


def centre_of(make, shared: float, trials: int) -> float:
    """The median luck of the best of so many trials."""
    rng = np.random.default_rng(1)
    return float(np.median(make(rng, trials * 20_000, 1, shared=shared).reshape(trials, -1).min(axis=0)))


def coverages(repetitions, *, make=lognormal, trials=16, shared=0.5, patience=2.0, interval=16, draws=400, seed=3):
    """How often each interval holds the truth; whether it was closed on both sides."""
    rng = np.random.default_rng(seed)
    scale = centre_of(make, shared, trials)
    # Steps are long against the check interval: what is coarser is warned of, not covered.
    truth = {"c1": 8 * C1 * scale, "c2": 8 * C2 * scale, "critical_batch": C1 / C2}
    inside, closed = dict.fromkeys(PARAMETERS, 0), 0
    for repetition in range(repetitions):
        luck = make(rng, trials, len(GRID), shared=shared)
        cells = curve_cells(lambda batch: 8 * law(batch), luck, patience=patience, interval=interval)
        scaling = fit_scaling(drawn(*cells, draws=draws, seed=repetition)).scaling
        closed += scaling.critical_batch.closed
        for name in PARAMETERS:
            inside[name] += getattr(scaling, name).covers(truth[name])
    return {name: count / repetitions for name, count in inside.items()}, closed / repetitions


def test_coverage_of_the_fit():
    found, closed = coverages(24, draws=200, patience=6)
    # Of 24 at 95 %, fewer than 18 inside has a chance of one in 10,000.
    assert all(share >= 18 / 24 for share in found.values()), found
    assert closed > 0.9


@pytest.mark.soak
@pytest.mark.parametrize(
    ("population", "trials", "shared", "patience"),
    [
        ("lognormal", 16, 0.5, math.inf),
        ("lognormal", 16, 0.0, math.inf),
        ("lognormal", 16, 0.9, math.inf),
        ("lognormal", 32, 0.5, math.inf),
        ("lognormal", 16, 0.0, 4.0),
        ("lognormal", 100, 0.5, 3.0),
        ("lognormal", 100, 0.9, 3.0),
        ("lognormal", 16, 0.5, 2.0),
        ("power", 16, 0.0, math.inf),
        ("power", 16, 0.5, math.inf),
        ("power", 16, 0.9, math.inf),
    ],
)
def test_coverage_of_the_fit_at_length(population, trials, shared, patience):
    found, closed = coverages(500, make=POPULATIONS[population], trials=trials, shared=shared, patience=patience)
    print(  # noqa: T201
        f"\n{population}, {trials} trials, shared {shared}, patience {patience}: {found}, closed {closed:.2f}"
    )
    # Lognormal luck thins out below the best trial faster than the power law that is continued there, so its intervals
    # err to the wide side: up to 99 % where cells are independent. Where the law is a power, 92 % is the least
    # measured. One standard error of a share of 500 is 1 %. Open sides hold everything.
    bounds = {"lognormal": (0.93, 0.995), "power": (0.93, 0.97) if shared < 0.9 else (0.91, 0.98)}
    least, most = bounds[population]
    assert all(least <= share <= (most if closed > 0.99 else 1) for share in found.values())


def scatter_coverages(repetitions: int) -> dict[str, float]:
    rng = np.random.default_rng(5)
    truth = {"scatter_c1": 100 * C1, "scatter_c2": 100 * C2, "scatter_critical_batch": C1 / C2}
    inside = dict.fromkeys(truth, 0)
    for _ in range(repetitions):
        points = {batch: 100 * law(batch) * math.exp(0.15 * rng.standard_normal()) for batch in GRID}
        scaling = fit_scaling(drawn(*measured_points(points), draws=2)).scaling
        for name, value in truth.items():
            inside[name] += getattr(scaling, name).covers(value)
    return {name: count / repetitions for name, count in inside.items()}


def test_coverage_of_the_scatter():
    assert all(share >= 49 / 60 for share in scatter_coverages(60).values())


@pytest.mark.soak
def test_coverage_of_the_scatter_at_length():
    found = scatter_coverages(500)
    print(f"\nscatter: {found}")  # noqa: T201
    assert all(0.93 <= share <= 0.97 for share in found.values())


def test_the_scatter_interval_is_where_the_profile_says():
    """On a dense grid of c1 and c2, those with SS <= SS_min (1 + t^2 / (n - 2))."""
    from scipy.stats import t as student

    rng = np.random.default_rng(0)
    y = np.log(law(B)) + 0.2 * rng.standard_normal(len(B))
    points = dict(zip(GRID, 1000 * np.exp(y), strict=True))
    scaling = fit_scaling(drawn(*measured_points(points))).scaling
    y = np.log([max(1, math.ceil(steps)) for steps in points.values()])
    log_c1 = math.log(scaling.c1.value) + np.linspace(-0.5, 0.5, 401)
    log_c2 = math.log(scaling.c2.value) + np.linspace(-0.5, 0.5, 401)
    model = np.logaddexp(log_c1[:, None, None] - np.log(B), log_c2[None, :, None])
    squares = ((y - model) ** 2).sum(axis=-1)
    inside = squares <= squares.min() * (1 + student.ppf(0.975, len(B) - 2) ** 2 / (len(B) - 2))
    found = np.exp(log_c1[inside.any(axis=1)])
    assert scaling.scatter_c1.low == pytest.approx(found.min(), rel=0.01)
    assert scaling.scatter_c1.high == pytest.approx(found.max(), rel=0.01)
    critical = np.exp((log_c1[:, None] - log_c2[None, :])[inside])
    assert scaling.scatter_critical_batch.low == pytest.approx(critical.min(), rel=0.01)
    assert scaling.scatter_critical_batch.high == pytest.approx(critical.max(), rel=0.01)


def test_one_cell_that_patience_does_not_bound_opens_the_side_it_would_move():
    luck = np.repeat(np.exp(0.05 * np.arange(16))[:, None], len(GRID), axis=1)
    luck[2:, 0] *= 4  # at the smallest batch two trials are complete within the patience
    scaling = fit_scaling(drawn(*curve_cells(law, luck, patience=2))).scaling
    assert scaling.c1.high is None
    assert scaling.c1.low is not None
    assert scaling.critical_batch.high is None
    assert scaling.c1.patience > 2
    assert "2 of 16" in scaling.c1.open_because
    assert scaling.scatter_critical_batch.closed


def test_cells_without_a_number_are_left_out_and_named():
    luck = np.repeat(np.exp(0.05 * np.arange(8))[:, None], len(GRID), axis=1)
    luck[:, 13] = math.nan
    scaling = fit_scaling(drawn(*curve_cells(law, luck))).scaling
    assert scaling.left_out == (GRID[-1],)
    assert len(scaling.residuals) == len(GRID) - 1
    assert fit_scaling(drawn(*curve_cells(law, luck[:, :2], batch_sizes=GRID[:2]))) is None


def one_trial(law_, **known):
    return fit_scaling(drawn(*measured_points({batch: 1000 * law_(batch) for batch in GRID}), **known))


@pytest.mark.parametrize(
    ("sharp", "noise", "verdict"),
    [(1, 0.03, "formula"), (4, 0.03, "sharper"), (0.4, 0.005, "softer"), (1, 0.5, "cannot be said")],
)
def test_the_verdict_on_the_knee(sharp, noise, verdict):
    rng = np.random.default_rng(2)
    fitted = one_trial(
        lambda b: ((C1 / b) ** sharp + C2**sharp) ** (1 / sharp) * math.exp(noise * rng.standard_normal())
    )
    knee = fitted.scaling.knee
    assert knee.verdict == verdict
    assert knee.scatter.covers(sharp)
    if verdict != "cannot be said":
        assert (knee.aicc > 0) == (verdict != "formula")


def test_the_knee_by_trials():
    rng = np.random.default_rng(0)
    luck = lognormal(rng, 32, len(GRID), spread=0.1)
    sharp = fit_scaling(drawn(*curve_cells(lambda b: 10 * ((C1 / b) ** 3 + C2**3) ** (1 / 3), luck)))
    plain = fit_scaling(drawn(*curve_cells(lambda b: 10 * law(b), luck)))
    assert sharp.scaling.knee.verdict == "sharper"
    assert sharp.scaling.knee.sharpness.covers(3)
    assert plain.scaling.knee.verdict == "formula"


def test_landmarks_of_the_formula():
    fitted = one_trial(law)
    found = landmarks(fitted, 1)
    critical = C1 / C2
    assert found.maximal_useful.value == pytest.approx(4 * critical, rel=0.01)
    # The mean of K x B over the first three cells is a little above c1, so the end lies a little beyond c1/c2.
    assert found.end_of_linear.value == pytest.approx(critical, rel=0.1)
    steps = {batch: law(batch) for batch in GRID}
    useful = min(b for b in GRID if all(steps[other] > 0.9 * steps[b] for other in GRID if other > b))
    assert found.maximal_useful_measured.value == pytest.approx(useful)


def test_a_doubling_at_the_maximal_useful_batch_saves_a_tenth():
    at = 4 * C1 / C2
    assert law(2 * at) == pytest.approx(0.9 * law(at))


def test_a_curve_that_never_bends_has_no_end():
    fitted = one_trial(lambda batch: 1e6 / batch)
    found = landmarks(fitted, 1)
    assert found.end_of_linear.value is None
    assert found.maximal_useful_measured.value is None
    assert fitted.scaling.scatter_critical_batch.high is None
    flat = landmarks(one_trial(lambda batch: 1000 / batch + 900), 1)
    assert "no linear part" in flat.end_of_linear.open_because


def test_landmarks_row_by_row_agree_with_a_slow_twin():
    rng = np.random.default_rng(1)
    rows = np.log(law(B)) + 0.3 * rng.standard_normal((30, len(B)))
    fast = crossing(np.log(B), rows + np.log(B))
    fast_useful = last_useful(np.log(B), rows)
    for row in range(30):
        images = rows[row] + np.log(B)
        limit = np.median(images[:3]) + math.log(2)
        j = next(j for j in range(len(B)) if images[j] > limit)
        at = np.log(B[j - 1]) + (limit - images[j - 1]) / (images[j] - images[j - 1]) * math.log(2)
        assert fast[row] == pytest.approx(at)
        steps = np.exp(rows[row])
        useful = [b for i, b in enumerate(B[:-1]) if all(steps[i + 1 :] > 0.9 * steps[i])]
        assert np.exp(fast_useful[row]) == pytest.approx(useful[0]) if useful else fast_useful[row] == np.inf


def test_regimes_and_speed_ups():
    rng = np.random.default_rng(0)
    luck = lognormal(rng, 16, len(GRID), spread=0.1, shared=1.0)
    curve = drawn(*curve_cells(lambda b: 10 * law(b), luck))
    rows = cell_scalings(curve, fit_scaling(curve))
    regimes = [row.regime for row in rows]
    assert regimes == sorted(regimes, key=["linear", "diminishing", "maximal"].index)
    assert {regimes[0], regimes[8], regimes[-1]} == {"linear", "diminishing", "maximal"}
    assert rows[0].speedup.value == 1
    for row in rows[1:]:
        expected = law(2) / law(row.batch_size)
        assert row.speedup.value == pytest.approx(expected, rel=0.02)
        assert row.speedup.low * 0.999 < expected < row.speedup.high * 1.001
        assert row.ideal == row.batch_size / 2
    assert rows[0].agreeing == 1


def test_trials_shared_by_two_curves_cancel_in_their_ratio():
    rng = np.random.default_rng(4)
    luck = lognormal(rng, 16, len(GRID), shared=1.0)
    dense = curve_cells(lambda b: 100 * law(b), luck)
    sparse = curve_cells(lambda b: 100 * (2 * C1 / b + C2), luck, sparsity=0.9)
    from parsity.analysis import Resampling, curves, draw

    both = curves([*sparse, *dense])
    resampling = Resampling(both)
    one, other = (fit_scaling(draw(curve, resampling)) for curve in both[::-1])
    ratio = parameter_ratio(one, other, "critical", 16)
    assert ratio.value == pytest.approx(2, rel=0.01)
    assert ratio.high - ratio.low < 0.2
    alone = one.scaling.c1
    assert alone.high / alone.low > 1.5


def test_the_fit_takes_the_middle_of_each_check_interval():
    coarse = fit_scaling(drawn(*measured_points({b: law(b) * 20 for b in GRID}, interval=64))).scaling
    exact = fit(B, np.log(20 * law(B)))
    assert coarse.c2.value == pytest.approx(math.exp(exact.log_c2[0]), rel=0.01)
