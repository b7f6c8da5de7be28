"""Presets, the file that `parsity new` writes, overrides, the schema and the page about all this."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsity.cli import main
from parsity.engines import ENGINES
from parsity.errors import UsageError
from parsity.models import NETWORKS
from parsity.pruning import CRITERIA
from parsity.study import (
    PRESETS,
    StudySpec,
    apply_overrides,
    estimated_hours,
    find_spec,
    json_schema,
    preset,
    read_spec,
    render,
)
from parsity.study import names as known
from parsity.study.keys import KEYS
from parsity.training import WORKLOADS, CertifiedTest, ConfidentTest

CALLED = [f"{one.name}/{one.scale}" for one in PRESETS]


def test_names_known_without_torch_are_those_of_the_parts() -> None:
    assert set(known.NETWORKS) == set(NETWORKS)
    assert set(known.CRITERIA) == set(CRITERIA)
    assert set(known.ENGINES) == {"auto", *ENGINES}
    assert set(known.TESTS) == {CertifiedTest.name, ConfidentTest.name}


@pytest.mark.parametrize("called", CALLED)
def test_what_new_writes_reads_back_as_the_preset(
    called: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", called]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "my study.toml"
    path.write_text(text)
    assert read_spec(path) == preset(called).spec
    assert max(map(len, text.splitlines())) <= 125
    assert len(text.splitlines()) < 60


def test_every_workload_of_the_paper_has_both_scales() -> None:
    assert [
        "digits/desk",
        *(f"{name}/{scale}" for name in list(WORKLOADS)[1:-1] for scale in ("desk", "paper")),
        "quadratic/desk",
    ] == CALLED
    assert len(WORKLOADS) == 13
    paper = preset("cifar10-sgd", "paper").spec
    assert paper.batch_sizes == tuple(2**i for i in range(1, 15))
    assert paper.sparsities == (0, 0.5, 0.7, 0.9)
    assert (paper.trials, paper.patience) == (100, 1)


def test_a_desk_preset_fits_an_evening() -> None:
    for one in PRESETS:
        hours = estimated_hours(one.spec)
        assert hours is not None
        if one.scale == "desk":
            assert hours < 5
            assert one.extent.patience > 1, "nothing is left of the clouds"


def test_hours_are_reckoned_as_told() -> None:
    # One cell by hand: 3 trials to twice the steps of the best at B = 8, sparse 50 %, on one core.
    one = StudySpec(workload="mnist-sgd", batch_sizes=[8], sparsities=[0.5], trials=3, patience=2)
    steps = (60_000 / 8 + 140) * (1 + 2.5 * 0.5**2)
    assert estimated_hours(one, cores=1) == pytest.approx(3 * 2 * steps * (8 + 4) / 10_000 / 3600)
    # To the letter of the paper's protocol, each of the trials goes to the limit.
    letter = one.with_(patience=math.inf)
    assert estimated_hours(letter, cores=1) == pytest.approx(3 * 40_000 * 12 / 10_000 / 3600)
    assert estimated_hours(one.with_(workload={"data": "mnist", "network": "my:own"})) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mnist"], "presets: 'mnist' is not known (did you mean mnist-sgd?); allowed are cifar10-momentum"),
        (["digits/paper"], "preset digits: it has no scale 'paper'; allowed: desk"),
        (["mnist-sgd/paper", "--scale", "desk"], "preset mnist-sgd/paper: it says a scale, and --scale desk another"),
        (["mnist-sgd", "--scale", "lab"], "preset mnist-sgd: it has no scale 'lab'; allowed: desk, paper"),
        (["mnist-sgd", "--set", "trials"], "'trials': not an override; allowed: KEY=VALUE"),
        (
            ["mnist-sgd", "--set", "trials=many"],
            'mnist-sgd: trials: not a whole number (found "many"); allowed: a whole',
        ),
        ([], "new: which preset?"),
        (["digits", "--schema"], "--schema: it is the same for every study"),
    ],
)
def test_new_says_what_is_wrong(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"parsity: {message}")


def test_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(PRESETS)
    assert lines[5].split() == [
        *("mnist-momentum", "paper", "mnist", "simple-cnn", "momentum", "constant", "0.02", "56", "100", "61"),
    ]
    assert main(["presets", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[1]["name"] == "mnist-sgd"
    assert rows[1]["identity"] == rows[2]["identity"], "a desk's study can grow into the paper's"
    assert rows[0]["batch_sizes"] == list(preset("digits").spec.batch_sizes)


def test_overrides() -> None:
    before = {"workload": "mnist-momentum", "space": {"learning_rate": {"scale": "log", "low": 0.1, "high": 1}}}
    kept = json.dumps(before)
    found = apply_overrides(
        before,
        [
            "trials=1",
            " trials = 32 ",
            "space.learning_rate.low=1e-3",
            "space.momentum.low=0.5",
            "goals=[0.1, 0.2]",
            "patience=inf",
            "engine=plain",
            "name=my study = good # really",
            "criterion='random'",
        ],
    )
    assert json.dumps(before) == kept
    assert found["space"] == {
        "learning_rate": {"scale": "log", "low": 0.001, "high": 1},
        "momentum": {"scale": "reverse-log", "low": 0.5, "high": 0.9999},
    }
    assert (found["trials"], found["goals"], found["patience"]) == (32, [0.1, 0.2], math.inf)
    assert (found["engine"], found["criterion"], found["name"]) == ("plain", "random", "my study = good # really")
    with pytest.raises(UsageError, match="trials is not a table; allowed: trials=VALUE"):
        apply_overrides({"trials": 3}, ["trials.low=3"])
    assert apply_overrides({}, ["name=1\nseed = 2"]) == {"name": "1\nseed = 2"}


def test_a_part_of_a_built_in_workload_can_be_another() -> None:
    parts = {"data": "cifar10", "network": "my.nets:make", "optimiser": "sgd", "schedule": "constant"}
    spec = find_spec("cifar10-momentum", overrides=[f"workload.{name}={value}" for name, value in parts.items()])
    assert spec.ingredients.model_dump() == parts
    assert (spec.goals, spec.check_interval, spec.step_limit) == ((0.4,), 32, 100_000)
    assert list(spec.space) == ["learning_rate"], "the usual space is that of the new optimiser"


def test_a_preset_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_spec("mnist-sgd", scale="paper") == preset("mnist-sgd/paper").spec
    Path("study.toml").write_text('workload = "digits"\n')
    assert find_spec("study.toml", overrides=["trials=3"]).trials == 3
    with pytest.raises(UsageError, match=r"for presets, and study\.toml is a study file"):
        find_spec("study.toml", scale="paper")
    with pytest.raises(UsageError, match=r"other\.toml: cannot be read"):
        find_spec("other.toml")
    with pytest.raises(UsageError, match="presets: 'mnist' is not known"):
        find_spec("mnist")


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
ENTRIES = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**20), 10**20)
    | TEXTS
    | st.lists(TEXTS | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3, unique=True).map(
        lambda options: {"options": options}
    )
    | st.tuples(st.sampled_from(["linear", "log"]), st.floats(1e-9, 1.0), st.floats(1.5, 1e9)).map(
        lambda one: {"scale": one[0], "low": one[1], "high": one[2]}
    )
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(TEXTS.filter(lambda name: name != "learning_rate"), ENTRIES, max_size=3),
    st.sets(st.floats(0, 0.999), min_size=1, max_size=3),
    st.sampled_from([1, 1.5, 2.0, math.inf]),
    st.text(min_size=1, max_size=20).filter(lambda text: text.strip() and text.isprintable()),
    st.integers(0, 2**62),
)
def test_whatever_is_valid_is_written_so_that_it_reads_back(
    space: dict[str, Any], goals: set[float], patience: float, name: str, seed: int
) -> None:
    parts = {"data": "my.data:load", "network": "my.nets:make", "optimiser": "my.own:Optimiser"}
    spec = StudySpec(workload=parts, goals=list(goals), space=space, patience=patience, name=name, seed=seed)
    document = tomllib.loads(render(spec, "A heading."))
    again = StudySpec.from_document(document)
    assert again.to_json() == spec.to_json()
    assert again.identity == spec.identity


def test_the_schema_describes_every_key() -> None:
    schema = json_schema()
    properties = {**schema["properties"]}
    inner = schema["$defs"]["Ingredients"]["properties"]
    properties |= {f"workload.{name}": one for name, one in inner.items()}
    assert set(properties) == set(KEYS)
    assert all(one["description"] == KEYS[name].what for name, one in properties.items())
    assert schema["required"] == ["workload"]
    assert not schema["additionalProperties"]
    assert "mnist-sgd" in json.dumps(schema["properties"]["workload"])


def test_the_page_says_what_is_so() -> None:
    page = (Path(__file__).parents[2] / "docs" / "study-file.md").read_text(encoding="utf-8")
    for name, one in KEYS.items():
        plus = " +" if one.grows else ""
        assert f"| `{name}`{plus} | {one.what} | {one.allowed} | {one.default or 'must be there'} |" in page
    for block in page.split("```toml\n")[1:]:
        StudySpec.from_document(tomllib.loads(block.partition("```")[0]))
