from __future__ import annotations

import hashlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parsity.data import Batches, split
from parsity.errors import UsageError


@pytest.mark.parametrize(
    ("count", "trained", "held_out"),
    [(60_000, 54_000, 6_000), (50_000, 45_000, 5_000), (1_617, 1_455, 162), (10, 9, 1)],
)
def test_a_tenth_is_held_out_and_nothing_is_lost(count: int, trained: int, held_out: int):
    train, validation = split(count)
    assert (len(train), len(validation)) == (trained, held_out)
    assert torch.equal(torch.cat([train, validation]).sort().values, torch.arange(count))


@pytest.mark.parametrize(
    ("count", "digest"),
    [
        (60_000, "3e24136dc81439f85655ca561e763f1422d1a55e8d6a5dcc1681fb57f7c6cd7a"),
        (50_000, "6ed915129b2b2a340b33d34ceb956ab7dce241cf8682b54d0afd62ec8adfb290"),
        (1_617, "a1a88a5eb0c79d2f3307e23e3dc10b80560e83a9eff6aac47d875b84f353676e"),
    ],
)
def test_the_split_never_changes(count: int, digest: str):
    both = torch.cat(list(split(count)))
    assert hashlib.sha256(both.numpy().astype("<i8").tobytes()).hexdigest() == digest


def test_the_split_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    split(100)
    Batches(100, 7, 1).indices(40)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("count", "fraction"), [(10, 0.0), (10, 1.0), (4, 0.1), (0, 0.1), (10, -0.5)])
def test_a_split_without_one_of_its_parts_is_refused(count: int, fraction: float):
    with pytest.raises(UsageError, match="both must be at least 1"):
        split(count, fraction)


def naive_stream(count: int, seed: int, length: int) -> torch.Tensor:
    """The order by its definition: whole passes, one after another, written out."""
    passes = []
    for number in range(-(-length // count)):
        digest = hashlib.sha256(f"parsity batches: seed {seed}, pass {number}".encode()).digest()
        generator = torch.Generator()
        generator.manual_seed(int.from_bytes(digest[:8], "big"))
        passes.append(torch.randperm(count, generator=generator))
    return torch.cat(passes)[:length]


@settings(deadline=None)
@given(
    count=st.integers(1, 40),
    batch_size=st.integers(1, 100),
    seed=st.integers(0, 2**70),
    steps=st.lists(st.integers(0, 30), min_size=1, max_size=20),
)
def test_batches_are_slices_of_one_permutation_after_another(count: int, batch_size: int, seed: int, steps: list[int]):
    stream = naive_stream(count, seed, 31 * batch_size)
    batches = Batches(count, batch_size, seed)
    for step in [*steps, *range(31)]:  # in any order, then consecutively
        expected = stream[step * batch_size : (step + 1) * batch_size]
        found = batches.indices(step)
        assert found.dtype == torch.int64
        assert torch.equal(found, expected)


def test_a_far_step_is_the_same_whether_jumped_to_or_walked_to():
    walked, jumped = Batches(1_455, 64, 9), Batches(1_455, 64, 9)
    for step in range(500):
        last = walked.indices(step)
    assert torch.equal(last, jumped.indices(499))


def test_consecutive_steps_draw_each_permutation_once(monkeypatch):
    drawn = []
    randperm = torch.randperm
    monkeypatch.setattr(torch, "randperm", lambda n, **rest: drawn.append(n) or randperm(n, **rest))
    batches = Batches(100, 8, 0)
    for step in range(100):
        batches.indices(step)
    assert len(drawn) == 8  # 800 indices


def test_the_order_never_changes():
    stream = torch.cat([Batches(54_000, 512, 1).indices(step) for step in (0, 105, 211)])
    digest = hashlib.sha256(stream.numpy().astype("<i8").tobytes()).hexdigest()
    assert digest == "8decac5e4c7d5f44d8af944aac473d4d66e5da75c5f2973487f0413e97f03c54"


def test_passes_and_seeds_differ():
    batches = Batches(100, 100, 1)
    assert not torch.equal(batches.indices(0), batches.indices(1))
    assert not torch.equal(batches.indices(0), Batches(100, 100, 2).indices(0))


@pytest.mark.parametrize(("count", "batch_size", "step"), [(0, 1, 0), (5, 0, 0), (5, 2, -1)])
def test_impossible_orders_are_refused(count: int, batch_size: int, step: int):
    with pytest.raises(UsageError, match="batches: "):
        Batches(count, batch_size, 0).indices(step)
