"""The report's words and numbers, against the analysis they are of."""

import math
import re
from dataclasses import replace

import pytest
from made_up import GOAL, cell
from pages import Reader, cells, data, named, reported, told

from parsity.report.page import SetAsideTrials
from parsity.report.page.numbers import DASH, about, factor, percent, times

TRUTHS = {0.0: (30_000.0, 100.0), 0.9: (90_000.0, 150.0)}


@pytest.fixture(scope="module")
def whole():
    """A study that bounds everything, and its analysis."""
    study = reported(cells(TRUTHS, trials=60, spread=0.2))
    text, analysis = told(study)
    return text, analysis, Reader(text)


def test_the_headline_is_the_analysis_in_words(whole):
    _, analysis, read = whole
    dense = analysis.studies[0].curve(GOAL, 0.0)
    fit = dense.scaling
    lead = " ".join(read.words["lead"].split())
    assert f"up to about {about(fit.critical_batch.value)} images a step" in lead
    wider = max((fit.critical_batch, fit.scatter_critical_batch), key=lambda one: one.high / one.low)
    assert f"between {about(wider.low)} and {about(wider.high)}" in lead
    assert f"from about {about(4 * fit.critical_batch.value)} on, it saves less than a tenth" in lead
    ratio = analysis.studies[0].ratios[0]
    assert "With 90 % of its weights removed" in lead
    assert f"{times(ratio.mean.value)} times as many steps" in lead
    # Truth: c1/c2 = 300.
    assert 200 < fit.critical_batch.value < 450


def test_every_table_is_of_the_analysis(whole):
    _, analysis, read = whole
    study = analysis.studies[0]
    steps = next(rows for caption, rows in read.tables.items() if caption.startswith("Steps to error"))
    for row in steps[1:]:
        batch = int(row[0].replace(",", ""))
        for text, sparsity in zip(row[1:], (0.0, 0.9), strict=True):
            found = next(one for one in study.curve(GOAL, sparsity).cells if one.batch_size == batch).steps
            number, low, high = re.fullmatch(r"([\d,]+) \[([\d,.]+), ([\d,.]+)\]", text).groups()
            assert int(number.replace(",", "")) == found.steps
            assert (low, high) == (about(found.estimate.low), about(found.estimate.high))
    fits = read.tables["The fits K* = c1/B + c2"]
    for row, curve in zip(fits[1:], study.curves, strict=True):
        assert row[1:4] == [
            about(one.value) for one in (curve.scaling.c1, curve.scaling.c2, curve.scaling.critical_batch)
        ]
    ratios = next(rows for caption, rows in read.tables.items() if caption.startswith("Steps over those"))
    for row, point in zip(ratios[1:], study.ratios[0].points, strict=True):
        assert row[1].split(" ")[0] == factor(point.ratio.value)
    winners = read.tables["Winners, cell by cell"]
    assert len(winners) == 1 + sum(len(curve.cells) for curve in study.curves)
    for row, one in zip(winners[1:], [one for curve in study.curves for one in curve.cells], strict=True):
        assert row[4] == str(one.steps.winner)
        assert float(row[5].replace(",", "")) == pytest.approx(one.steps.metaparameters["learning_rate"], rel=1e-3)


def test_the_charts_are_of_the_analysis(whole):
    text, analysis, _ = whole
    study = data(text)["studies"][0]
    for drawn, curve in zip(study["curves"], analysis.studies[0].curves, strict=True):
        assert [point["v"] for point in drawn["points"]] == [one.steps.steps for one in curve.cells]
        assert [point["low"] for point in drawn["points"]] == [one.steps.estimate.low for one in curve.cells]
        assert (drawn["c1"], drawn["c2"]) == (curve.scaling.c1.value, curve.scaling.c2.value)
    winners = {(cloud["b"], cloud["s"]): cloud["winners"][0] for cloud in study["clouds"]}
    for curve in analysis.studies[0].curves:
        for one in curve.cells:
            assert winners[one.batch_size, curve.sparsity] == one.steps.winner


def test_every_claim_is_there_with_its_verdict(whole):
    text, analysis, _ = whole
    plain = re.sub(r"\s+", " ", text)
    for claim in analysis.claims:
        assert claim.statement.replace("'", "&#x27;") in plain


def test_nothing_is_fetched_from_anywhere(whole):
    text, _, _ = whole
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", outside)
    assert "connect-src 'none'" in outside
    assert len(text.encode()) < 8_000_000


def lead_of(found, **known):
    return " ".join(Reader(told(reported(found, **known))[0]).words["lead"].split())


@pytest.mark.parametrize(
    ("truths", "batches", "words"),
    [
        ({0.0: (1e6, 1e-3)}, (2, 8, 32, 128), "all the way to 128 images a step"),
        ({0.0: (1e-6, 1000.0)}, (2, 8, 32, 128), "larger batches hardly pay"),
        ({0.0: (3e4, 100.0)}, (2, 8, 32, 128), "this is an extrapolation"),
        ({0.0: (1e5, 100.0)}, (2, 8), "2 batch sizes reached"),
        ({0.5: (3e4, 100.0)}, (2, 8, 32, 128, 512, 2048), "of its weights removed before training, larger batches pay"),
        ({0.0: (3e4, 100.0), 0.5: (3e4, 100.0)}, (2, 8, 32), "about as many steps"),
    ],
)
def test_each_kind_of_curve_has_its_words(truths, batches, words):
    assert words in lead_of(cells(truths, batch_sizes=batches, spread=0.0))


def test_a_falling_cost_is_told():
    lead = lead_of(cells({0.0: (3e4, 100.0), 0.9: (1.2e5, 110.0)}, trials=40, spread=0.1))
    assert "less, the larger the batch" in lead


def test_unfinished_is_the_first_thing_to_know():
    found = cells(TRUTHS)
    resting, running = (lead_of(found, due=3, driver=driver) for driver in (None, 17))
    assert resting.endswith(running[-60:])
    assert "Do not rely on it yet: only 21 of 22 cells are finished" in running
    text, _ = told(reported(found, due=3, driver=17))
    assert "still running" in text


def test_what_was_set_aside_is_named():
    aside = SetAsideTrials(batch_size=2, sparsity=0.0, numbers="trials 3-5", reason="killed by signal 9", attempts=4)
    text, _ = told(reported(cells(TRUTHS), set_asides=(aside,)))
    assert "trials 3-5 (killed by signal 9, tried 4 times)" in text


def test_neither_nan_nor_infinity_nor_divergence_breaks_it():
    bad = [{"learning_rate": value, "momentum": math.nan} for value in (math.inf, -math.inf, math.nan, 1e-300)]
    found = [
        cell([math.nan] * 4, batch_size=2),
        cell([math.inf] * 4, batch_size=4, limit=1000),
        cell([100.0, math.nan, math.inf, 120.0], batch_size=8, limit=1000),
    ]
    text, _ = told(reported(found))
    assert len(data(text)["studies"][0]["curves"][0]["points"]) == 3
    trials = tuple(replace(trial, metaparameters=given) for trial, given in zip(found[0].trials, bad, strict=True))
    text, _ = told(reported([replace(found[0], trials=trials)]))
    assert "nothing can be said" in text
    assert data(text)["studies"][0]["tried"] == [[None], [None], [None], [1e-300]]


HOSTILE = '</script><img src=x onerror="alert(1)">&amp;<!-- \u2028 Ω'


def test_no_name_can_break_the_page():
    study = named(reported(cells(TRUTHS), spec=HOSTILE), HOSTILE)
    text, _ = told(study)
    assert HOSTILE not in text
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert data(text)["studies"][0]["name"] == HOSTILE


def test_hostile_names_and_empty_studies_open_in_a_browser(browser, tmp_path):
    first = reported(cells(TRUTHS), name="first")
    text, _ = told(first, named(reported(cells({0.0: (9e3, 50.0)}, seed=2)), HOSTILE), reported([], name="empty"))
    path = tmp_path / "several.html"
    path.write_text(text)
    browser.open(path.as_uri())
    assert browser.problems == []
    assert browser.js("document.querySelectorAll('[data-chart=beside] .trace').length") >= 3
    assert browser.js("document.querySelectorAll('h2')[2].textContent") == HOSTILE
    assert len(browser.requests) == 1 + sum(one.startswith(("data:", "blob:")) for one in browser.requests)


@pytest.mark.parametrize(
    ("value", "text"), [(None, DASH), (math.inf, DASH), (0, "0"), (0.1234, "0.12"), (47.3, "47"), (1234.5, "1,230")]
)
def test_numbers_of_a_fit_have_the_digits_that_mean_something(value, text):
    assert about(value) == text


def test_shares_are_percentages():
    assert [percent(0.9, 2), percent(0.125), percent(0.1234, 2), percent(0.171, 0)] == [
        "90\u00a0%",
        "12.5\u00a0%",
        "12.34\u00a0%",
        "17\u00a0%",
    ]


def test_seconds_are_a_part_of_the_page_where_steps_were_timed(whole):
    text, _, read = whole
    assert not any(caption.startswith("Seconds") for caption in read.tables)
    luck = cells({0.0: (30_000.0, 100.0), 0.9: (60_000.0, 200.0)}, trials=20, spread=0.2)
    timed = [
        replace(one, trials=tuple(replace(t, step_seconds=1e-3 * (0.1 if one.sparsity else 1.0)) for t in one.trials))
        for one in luck
    ]
    text, analysis = told(reported(timed))
    read = Reader(text)
    (found,) = analysis.studies[0].seconds
    heading, *rows = read.tables["Seconds to the goal, with 95 % intervals"]
    assert heading == ["batch size", "sparsity", "engine", "K*", "a step", "seconds", "over dense"]
    assert len(rows) == len(found.cells)
    for row, one in zip(rows, found.cells, strict=True):
        assert row[3] == f"{one.steps.value:,.0f}"
        assert row[4] == ("100 µs" if one.sparsity else "1 ms")
        assert row[5].startswith(f"{about(one.seconds.value)} [{about(one.seconds.low)}, ")
        assert row[6].startswith(factor(one.ratio.value)) if one.ratio else row[6] == ""
    assert "Sparsity 0.9 overtakes dense at batch size 2, 4, 8" in " ".join(read.words["tables"].split())
