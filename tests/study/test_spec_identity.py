"""A study's identity: what it rests on, what it does not, and what may change once the study has begun."""

from __future__ import annotations

import hashlib
import itertools
import math
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsity.errors import UsageError
from parsity.study import Difference, StudySpec, check_extension, differences

OWN: dict[str, Any] = {
    "workload": {"data": "mnist", "network": "my.nets:make"},
    "goals": [0.02],
    "step_limit": 320,
    "space": {"learning_rate": {"scale": "log", "low": 0.001, "high": 1}, "momentum": 0.9},
}


def spec(**changes: Any) -> StudySpec:
    return StudySpec.from_document({**OWN, **changes})


def test_the_identity_is_pinned() -> None:
    # Whoever has to change these lines breaks every study there is.
    canonical = (
        '{"check_interval":16,"space":{"learning_rate":{"high":1.0,"low":0.001,"scale":"log"},"momentum":0.9},'
        '"step_limit":320,"workload.data":"mnist","workload.network":"my.nets:make",'
        '"workload.optimiser":"momentum","workload.schedule":"constant"}'
    )
    assert spec().identity == hashlib.sha256(canonical.encode()).hexdigest()
    assert spec().identity == "545397f813b50b94e12ee9c03ff7e4ea96b41c9fd1d3f6d1a05f02236f0413c0"
    seeded = canonical.replace('"space"', '"seed":3,"space"')
    assert spec(seed=3).identity == hashlib.sha256(seeded.encode()).hexdigest()


def test_defaults_spelt_out_are_the_same_study() -> None:
    whole = spec().document()
    assert {"seed", "device", "threads", "ranks", "engine", "test", "criterion", "eligible", "sequence"} <= set(whole)
    assert StudySpec.from_document(whole).identity == spec().identity
    built_in = StudySpec(workload="mnist-momentum")
    parts = {"data": "mnist", "network": "simple-cnn", "optimiser": "momentum", "schedule": "constant"}
    assert StudySpec(workload=parts, goals=[0.02]).identity == built_in.identity
    assert differences(StudySpec(workload=parts, goals=[0.02], name="mnist-momentum"), built_in) == []


def test_order_and_spelling_make_no_difference() -> None:
    document = {**OWN, "goals": [0.02, 0.1], "batch_sizes": [8, 2], "sparsities": [0.9, 0]}
    document["space"] = {**OWN["space"], "weight_decay": {"options": [0, 0.01]}}
    expected = StudySpec.from_document(document)
    for keys in itertools.islice(itertools.permutations(document), 40):
        other = {key: document[key] for key in keys}
        other["space"] = dict(reversed(document["space"].items()))
        other["workload"] = dict(reversed(OWN["workload"].items()))
        found = StudySpec.from_document(other)
        assert found.to_json() == expected.to_json()
        # Not the digest alone: the dimensions of the sequence are the same ones.
        assert found.search_space.trial(5) == expected.search_space.trial(5)
    assert list(expected.search_space.scales) == ["learning_rate", "momentum", "weight_decay"]
    assert spec(sparsities=[-0.0]).to_json() == spec(sparsities=[0]).to_json()
    assert spec(space={"momentum": 0}).identity == spec(space={"momentum": {"options": [0.0]}}).identity


CHANGES: dict[str, Any] = {
    "workload": {"data": "mnist", "network": "my.nets:other"},
    "check_interval": 8,
    "step_limit": 640,
    "criterion": "magnitude",
    "eligible": "weights",
    "space": {"momentum": 0.95},
    "sequence": "halton",
    "seed": 1,
    "device": "cuda",
    "threads": 2,
    "ranks": 2,
    "engine": "plain",
    "test": "confident",
}
NO_CHANGES: dict[str, Any] = {
    "name": "another name",
    "goals": [0.01, 0.02],
    "batch_sizes": [2, 8, 32, 128, 512, 2048, 8192],
    "sparsities": [0, 0.5, 0.7, 0.8, 0.9],
    "trials": 100,
    "patience": math.inf,
}


def test_every_key_is_in_the_identity_or_may_change() -> None:
    assert set(CHANGES) | set(NO_CHANGES) == set(StudySpec.model_fields)


@pytest.mark.parametrize("key", CHANGES)
def test_what_decides_a_number_is_in_the_identity(key: str) -> None:
    changed = spec(**{key: CHANGES[key]})
    assert changed.identity != spec().identity
    found = differences(spec(), changed)
    assert found
    assert {one.change for one in found} == {"change"}
    with pytest.raises(UsageError, match=r"^study\.toml: .*\(cannot change once a study has begun\)"):
        check_extension(spec(), changed, "study.toml")


@pytest.mark.parametrize("key", NO_CHANGES)
def test_what_may_grow_is_not(key: str) -> None:
    grown = spec(**{key: NO_CHANGES[key]})
    assert grown.identity == spec().identity
    assert [one.key for one in check_extension(spec(), grown)] == [key]
    back = differences(grown, spec())
    assert [one.change for one in back] == ["label" if key == "name" else "shrink"]


def test_cards_are_one_device() -> None:
    assert spec(device="cuda:1").identity == spec(device="cuda").identity != spec().identity
    assert differences(spec(device="cuda:1"), spec(device="cuda:0")) == []


def test_differences_are_pleasant_to_read() -> None:
    old = StudySpec(
        workload="mnist-momentum", batch_sizes=[2, 8], patience=2, space={"momentum": {"options": [0, 0.9]}}
    )
    new = old.with_(
        name="mine",
        workload="mnist-nesterov",
        batch_sizes=[2, 32],
        sparsities=[0, 0.5, 0.7, 0.8, 0.9],
        trials=32,
        patience=math.inf,
        seed=7,
        space={"learning_rate": {"scale": "log", "low": 1e-3, "high": 1}, "momentum": 0.9, "weight_decay": 0.1},
    )
    assert [str(one) for one in differences(old, new)] == [
        "name: mnist-momentum -> mine (a label, free to change)",
        "batch_sizes: 2, 8 -> 2, 32 (loses 8; may only grow)",
        "sparsities: 0, 0.5, 0.7, 0.9 -> 0, 0.5, 0.7, 0.8, 0.9 (adds 0.8)",
        "trials: 16 -> 32 (grows)",
        "patience: 2 -> inf (grows)",
        "workload.optimiser: momentum -> nesterov (cannot change once a study has begun)",
        "seed: 0 -> 7 (cannot change once a study has begun)",
        "space.learning_rate: log 0.0001 to 1 -> log 0.001 to 1 (cannot change once a study has begun)",
        "space.momentum: one of 0, 0.9 -> 0.9 (cannot change once a study has begun)",
        "space.weight_decay: nothing -> 0.1 (cannot change once a study has begun)",
    ]
    assert str(Difference("trials", 32, 16, "shrink")) == "trials: 32 -> 16 (may only grow)"


SETS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b"]),
        "goals": st.sets(st.sampled_from([0.02, 0.1, 0.2]), min_size=1).map(list),
        "batch_sizes": st.sets(st.sampled_from([2, 4, 8]), min_size=1).map(list),
        "sparsities": st.sets(st.sampled_from([0.0, 0.5, 0.9]), min_size=1).map(list),
        "trials": st.integers(1, 4),
        "patience": st.sampled_from([1, 1.5, 2.0, math.inf]),
        "seed": st.integers(0, 1),
        "threads": st.integers(1, 2),
        "space": st.sampled_from([{"momentum": 0.9}, {"momentum": 0.5}, {"momentum": {"options": [0.5, 0.9]}}]),
        "device": st.sampled_from(["cpu", "cuda:0", "cuda:1"]),
    },
)


@settings(max_examples=100, deadline=None)
@given(SETS, SETS)
def test_growth_is_a_partial_order_within_one_identity(first: dict[str, Any], second: dict[str, Any]) -> None:
    old, new = spec(**first), spec(**second)
    found = differences(old, new)
    assert (old.identity == new.identity) == all(one.change != "change" for one in found)
    grows = all(set(getattr(old, key)) <= set(getattr(new, key)) for key in ("goals", "batch_sizes", "sparsities"))
    grows = grows and old.trials <= new.trials and old.patience <= new.patience
    assert all(one.allowed for one in found) == (grows and old.identity == new.identity)
    assert {one.key for one in found} == {one.key for one in differences(new, old)}
    if all(one.allowed for one in found) and all(one.allowed for one in differences(new, old)):
        assert {one.key for one in found} <= {"name"}


def test_a_spec_survives_json_and_pickling() -> None:
    for one in (spec(patience=math.inf, name="Étude ☃"), StudySpec(workload="cifar10-sgd")):
        assert StudySpec.from_json(one.to_json()) == one
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
        assert StudySpec.from_json(one.to_json()).to_json() == one.to_json()


def test_cells_and_workload() -> None:
    small = spec(batch_sizes=[8, 2], sparsities=[0.9, 0])
    assert small.cells() == ((2, 0.0), (2, 0.9), (8, 0.0), (8, 0.9))
    workload = StudySpec(workload="fashion-mnist-sgd", criterion="grasp", space={"weight_decay": 0.001}).make_workload()
    assert (workload.name, workload.goals, workload.criterion) == ("fashion-mnist-sgd", (0.12, 0.14), "grasp")
    assert workload.space.trial(1) == pytest.approx({"learning_rate": 0.01, "weight_decay": 0.001})
