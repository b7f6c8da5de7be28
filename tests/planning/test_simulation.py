"""The simulated scheduler: against a slow twin in small steps of time, and closed forms, with the driver's own rule."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from parsity.planning import Conditions, End, Lockstep, SimulatedCell, simulate
from parsity.study.planning import Piece, cut

FREE = Conditions(task=0, begin=0, news=0)


def cell(key: tuple[int, float], seed: int, *, trials: int = 12, patience: float = 1.0) -> SimulatedCell:
    chance = random.Random(seed)
    ends = [
        End(step=chance.choice((20, 50, 200, 400)) + chance.randrange(20), complete=chance.random() < 0.5)
        for _ in range(trials - 1)
    ]
    return SimulatedCell(key=key, ends=(*ends, End(60.0, True)), step_seconds=0.5 + chance.random(), patience=patience)


def pieces(cells: list[SimulatedCell]) -> list[Piece]:
    found = [Piece(one.key, tuple(range(1, len(one.ends) + 1)), one.needed) for one in cells]
    return sorted(found, key=lambda piece: -piece.seconds)


def grid(patience: float = 1.0) -> list[SimulatedCell]:
    return [cell((2**place, 0.0), place, patience=patience) for place in range(1, 6)]


def test_lockstep_is_the_sum_over_its_trials() -> None:
    one = cell((2, 0.0), 3)
    work = Lockstep(one, (1, 4, 7, 12))
    chance = random.Random(1)
    for _ in range(50):
        step = chance.uniform(0, work.last)
        slow = one.step_seconds * sum(min(one.ends[number - 1].step, step) for number in (1, 4, 7, 12))
        assert work.seconds(step) == pytest.approx(slow)
        assert work.step(slow) == pytest.approx(step)


@pytest.mark.parametrize("patience", [1.0, 2.0, float("inf")])
def test_one_worker_does_what_is_needed_and_no_more(patience: float) -> None:
    cells = grid(patience)
    found = simulate(cells, pieces(cells), cut, 1, FREE)
    assert found.makespan == pytest.approx(found.needed)
    assert found.overrun == pytest.approx(0, abs=1e-6)
    assert found.idle == pytest.approx(0, abs=1e-6)
    slow = sum(
        min(end.step, patience * min(e.step for e in one.ends if e.complete)) * one.step_seconds
        for one in cells
        for end in one.ends
    )
    assert found.needed == pytest.approx(slow)


def test_as_many_workers_as_trials_take_as_long_as_the_longest() -> None:
    one = cell((2, 0.0), 5)
    found = simulate([one], pieces([one]), cut, 12, FREE)
    assert found.makespan == pytest.approx(found.chain) == pytest.approx(found.ideal)
    assert found.overrun == pytest.approx(0, abs=1e-6)


def twin(cells: list[SimulatedCell], given: list[Piece], workers: int, tick: float) -> tuple[float, float]:
    """The same scheduler without events: time goes on by small ticks, and all looks at all. (makespan, computed)"""
    waiting, running, bounds = list(given), [], {}
    by_key = {one.key: one for one in cells}
    now = computed = 0.0
    while waiting or running:
        while len(running) < workers and waiting:
            first, *rest = cut(waiting[0], waiting[1:], workers)
            waiting[:1] = rest
            running.append([first, 0.0])
        still = []
        for piece, step in running:
            one = by_key[piece.cell]
            ends = [one.ends[number - 1] for number in piece.trials]
            limit = min(max(end.step for end in ends), one.patience * bounds.get(one.key, float("inf")))
            active = sum(end.step > step for end in ends) or 1
            step += tick / (active * one.step_seconds)
            computed += tick
            for end in ends:
                if end.complete and end.step <= step:
                    bounds[one.key] = min(bounds.get(one.key, float("inf")), end.step)
            if step < limit:
                still.append([piece, step])
        running = still
        now += tick
    return now, computed


@pytest.mark.parametrize(("workers", "patience"), [(2, 1.5), (3, 1.0), (8, 1.0)])
def test_events_are_the_limit_of_small_ticks(workers: int, patience: float) -> None:
    cells = grid(patience)
    found = simulate(cells, pieces(cells), cut, workers, FREE)
    makespan, computed = twin(cells, pieces(cells), workers, tick=0.2)
    assert found.makespan == pytest.approx(makespan, rel=0.02)
    assert found.needed + found.overrun == pytest.approx(computed, rel=0.02)


@pytest.mark.parametrize("workers", [1, 3, 40])
@pytest.mark.parametrize("life", [float("inf"), 300.0])
def test_every_core_second_is_accounted_for(workers: int, life: float) -> None:
    cells = [*grid(), cell((2, 0.9), 9)]
    conditions = Conditions(task=2, begin=0.5, scores=5, news=1, life=life, checkpoint=20, replaced=7, seed=1)
    found = simulate(cells, pieces(cells), cut, workers, conditions)
    total = found.needed + found.overrun + found.prepared + found.lost + found.idle
    assert total == pytest.approx(workers * found.makespan)
    assert found.overrun >= -1e-6
    assert found.idle >= -1e-6
    assert found.makespan >= found.ideal
    assert (found.lost > 0) == (life < float("inf"))
    assert 0 <= found.waste < 1
    assert found == simulate(cells, pieces(cells), cut, workers, conditions)


def test_scores_that_nobody_has_kept_cost_everyone_who_asks_at_once() -> None:
    cells = [cell((2, 0.9), 1), cell((4, 0.9), 2)]
    kept = Conditions(task=0, begin=0, news=0, scores=10)
    alone = simulate(cells, pieces(cells), cut, 1, kept)
    assert alone.prepared == pytest.approx(12 * 10)  # each trial number once, for both cells
    together = simulate(cells, pieces(cells), cut, 1000, kept)
    assert together.prepared == pytest.approx(24 * 10)


def a_part_per_worker(piece: Piece, waiting: Sequence[Piece], workers: int) -> list[Piece]:
    """The rule before: a part for each worker as soon as a cell is more than a worker's share."""
    if piece.seconds <= (piece.seconds + sum(other.seconds for other in waiting)) / workers:
        return [piece]
    parts = min(workers, len(piece.trials))
    hands = [piece.trials[part::parts] for part in range(parts)]
    return [Piece(piece.cell, hand, piece.seconds * len(hand) / len(piece.trials)) for hand in hands]


def test_the_rule_in_use_wastes_less_than_a_part_per_worker() -> None:
    """On studies of 24 cells of 40 trials, in the mean over seeds and numbers of workers."""
    makespans = {cut: 0.0, a_part_per_worker: 0.0}
    overruns = {cut: 0.0, a_part_per_worker: 0.0}
    for seed in range(3):
        chance = random.Random(seed)
        cells = []
        for place in range(24):
            ends = [
                End(min(step, 1500.0), step < 1500) for step in (60 * math.exp(chance.gauss(1, 1)) for _ in range(40))
            ]
            seconds = 2 ** chance.uniform(-4, 1)
            cells.append(SimulatedCell(key=(place + 1, 0.0), ends=tuple(ends), step_seconds=seconds))
        for workers in (8, 16, 32, 64):
            for rule in makespans:
                found = simulate(cells, pieces(cells), rule, workers, FREE)
                makespans[rule] += found.makespan / found.ideal
                overruns[rule] += found.overrun / found.needed
    assert makespans[cut] < 0.99 * makespans[a_part_per_worker]
    assert overruns[cut] < 0.9 * overruns[a_part_per_worker]
