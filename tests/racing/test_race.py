"""The race: the protocol's K*, for any split, order and interruption."""

import math
import random
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from parsity import Dataset, Workload, race
from parsity.engines import arithmetic
from parsity.errors import UsageError
from parsity.metaparameters import Space
from parsity.racing import Cell, LocalBounds, Scores, Shard
from parsity.results import Complete, Incomplete, Infeasible, Outpaced, TrialResult, settled

SPACE = Space.from_spec({"learning_rate": {"scale": "log", "low": 0.001, "high": 30.0}, "momentum": 0.9})


def small_network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24, 4))


@pytest.fixture(scope="module")
def work() -> Workload:
    generator = torch.Generator().manual_seed(3)
    labels = torch.arange(400) % 4
    centres = torch.randn(4, 1, 4, 4, generator=generator)
    images = centres[labels] + 0.8 * torch.randn(400, 1, 4, 4, generator=generator)
    data = Dataset.from_tensors(
        images[:320], labels[:320], name="blobs", test_images=images[320:], test_labels=labels[320:]
    )
    return Workload(data=data, network=small_network, space=SPACE, goals=(0.06, 0.1), check_interval=4, step_limit=120)


def protocol(cell: Cell, numbers) -> dict[int, dict[float, object]]:
    """The paper's protocol to the letter: each trial alone, to the goal or to the limit."""
    found = {}
    for number in numbers:
        trial = cell.begin(number)
        while trial.pending:
            trial.work()
        found[number] = dict(trial.outcomes)
    return found


def table(results):
    """What of a cell may not depend on how it was run."""
    rows = {}
    for trial in results:
        rows[trial.number] = {
            goal: Outpaced(0) if isinstance(outcome, Outpaced) else outcome for goal, outcome in trial.outcomes.items()
        } | {"test": dict(trial.test_errors)}
    return rows


def untimed(results):
    """All but what a clock said."""
    return [replace(trial, seconds=0, step_seconds=None, timed_steps=0) for trial in results]


@pytest.mark.parametrize("sparsity", [0.0, 0.5])
@pytest.mark.parametrize("patience", [1.0, 2.0, math.inf])
def test_the_race_gives_the_protocols_answer(work, sparsity, patience):
    cell = Cell(workload=work, batch_size=8, sparsity=sparsity, patience=patience)
    expected = protocol(cell, range(1, 13))
    result = race(work, 8, sparsity, trials=12, patience=patience)
    for goal in work.goals:
        steps = {n: o[goal].step for n, o in expected.items() if isinstance(o[goal], Complete)}
        best = min(steps.values())
        winner = result.winner(goal)
        assert result.steps_to_result(goal) == best == winner.step
        assert winner.number == min(n for n, step in steps.items() if step == best)
        for trial in result.trials:
            alone = expected[trial.number][goal]
            if alone.step + isinstance(alone, Infeasible) <= patience * best:
                assert trial.outcomes[goal] == alone
            else:
                assert isinstance(trial.outcomes[goal], Outpaced)
    kinds = {type(o) for trial in result.trials for o in trial.outcomes.values()}
    assert kinds >= ({Complete, Outpaced} if patience < math.inf else {Complete, Infeasible})


def test_no_step_is_spent_that_cannot_change_the_answer(work):
    result = race(work.with_(goals=(0.06,)), 8, trials=12)
    best = result.steps_to_result()
    assert all(trial.steps <= best for trial in result.trials)
    for trial in result.trials:
        if isinstance(trial.outcomes[0.06], Outpaced):
            assert trial.steps > best - 4


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("patience", [1.0, 2.0])
def test_any_split_and_order_gives_the_same_table(work, shards, patience):
    cell = Cell(workload=work, batch_size=8, sparsity=0.5, patience=patience)
    whole = cell.result(Shard(cell=cell, numbers=range(1, 13)).run(), seconds=0)
    numbers = list(range(1, 13))
    random.Random(shards).shuffle(numbers)
    for shared in (True, False):
        bounds = LocalBounds()
        results = []
        for i in range(shards):
            own = bounds if shared else LocalBounds()
            results += Shard(cell=cell, numbers=numbers[i::shards], bounds=own).run()
        assert table(cell.result(results, seconds=0).trials) == table(whole.trials)


class StopHereError(Exception):
    pass


def test_interrupted_at_any_moment_and_resumed(work, tmp_path):
    cell = Cell(workload=work, batch_size=8, sparsity=0.5, patience=2.0)
    whole = Shard(cell=cell, numbers=range(1, 9)).run()
    chance = random.Random(0)
    stops = 0

    def pause():
        if chance.random() < 0.04:
            raise StopHereError

    shard = Shard(cell=cell, numbers=range(1, 9), checkpoint=tmp_path / "race", pause=pause, checkpoint_seconds=0)
    while True:
        try:
            results = shard.run()
            break
        except StopHereError:
            stops += 1
            shard.bounds = LocalBounds()
    assert stops > 3
    assert untimed(results) == untimed(whole)
    # The results are in nobody's hands yet: the checkpoint stays until whoever keeps them says so.
    assert [path.name for path in tmp_path.iterdir()] == ["race"]
    race(work, 8, trials=2, checkpoint=tmp_path / "single")
    assert [path.name for path in tmp_path.iterdir()] == ["race"]


def test_what_was_spent_before_an_interruption_is_remembered(work, tmp_path):
    cell = Cell(workload=work, batch_size=8, sparsity=0.0)
    seen = []

    def pause():
        if len(seen) == 20:
            raise StopHereError

    shard = Shard(cell=cell, numbers=range(1, 4), checkpoint=tmp_path / "race", pause=pause, watch=seen.append)
    with pytest.raises(StopHereError):
        shard.run()
    first = next(runner for runner in seen if runner is not None)
    assert first.images_before == 0
    spent, images = {trial.number: trial.seconds for trial in first.trials}, first.images
    assert all(seconds > 0 for seconds in spent.values())
    assert images > 0
    seen.clear()
    shard.pause = lambda: None
    results = shard.run()
    second = next(runner for runner in seen if runner is not None)
    assert second.images_before == images
    assert second.images > images
    assert all(result.seconds > spent[result.number] for result in results)


@pytest.mark.parametrize("moment", [1, 7, 30])
def test_interrupted_in_the_middle_of_a_step(work, tmp_path, monkeypatch, moment):
    """Ctrl-C may come when weights have moved on and the count of steps has not: that state must not be saved."""
    from parsity.training import Trial

    cell = Cell(workload=work, batch_size=8, sparsity=0.5, patience=2.0)
    whole = Shard(cell=cell, numbers=range(1, 5)).run()
    shard = Shard(cell=cell, numbers=range(1, 5), checkpoint=tmp_path / "race", checkpoint_seconds=0)
    original, calls = Trial._train, []

    def half_a_step(self, steps):
        before = self.step
        original(self, steps)
        calls.append(steps)
        if len(calls) == moment:
            self.step = before
            raise KeyboardInterrupt

    monkeypatch.setattr(Trial, "_train", half_a_step)
    with pytest.raises(KeyboardInterrupt):
        shard.run()
    shard.bounds = LocalBounds()
    assert untimed(shard.run()) == untimed(whole)


def test_a_callable_is_known_by_what_it_makes(work):
    """Its address differs from process to process, and two of one name may make different networks."""

    def named(source):
        space = {"nn": nn}
        exec(source, space)  # noqa: S102
        return Cell(workload=work.with_(network=space["make"]), batch_size=8, sparsity=0.0)

    text = "make = lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 4))"
    assert named(text).identity == named(text).identity
    assert named(text).identity != named(text.replace("nn.Linear", "nn.ReLU(), nn.Linear")).identity
    scaled = (
        "def make():\n    n = nn.Sequential(nn.Flatten(), nn.Linear(16, 4))\n    n[1].weight.data *= 2\n    return n"
    )
    assert named(scaled).identity != named(text).identity


def test_ties_go_to_the_lowest_number():
    def trial(number, outcome, test_errors=None):
        return TrialResult(
            number=number,
            metaparameters={},
            outcomes={0.1: outcome},
            steps=outcome.step,
            images_looked_at=0,
            test_errors=test_errors or {},
        )

    rows = settled(
        [
            trial(4, Complete(16, 12), {0.1: 0.5}),
            trial(2, Complete(12, 8), {0.1: 0.2}),
            trial(3, Complete(12, 8), {0.1: 0.3}),
            trial(1, Incomplete(40)),
            trial(5, Infeasible(12)),
            trial(6, Infeasible(3)),
        ],
        [0.1],
        1.0,
    )
    assert [row.number for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.outcomes[0.1].status for row in rows] == [
        "outpaced",
        "complete",
        "complete",
        "outpaced",
        "outpaced",
        "infeasible",
    ]
    assert [dict(row.test_errors) for row in rows] == [{}, {0.1: 0.2}, {}, {}, {}, {}]


def test_what_lies_between_two_checks_settles_as_the_check_that_ends_its_interval():
    """Patience 1.25 x 8 is 10: whoever knew of 8 would have stopped there, and not seen what happened at 9."""

    def trial(number, outcome):
        return TrialResult(
            number=number, metaparameters={}, outcomes={0.1: outcome}, steps=outcome.step, images_looked_at=0
        )

    ill, well = trial(2, Infeasible(9)), trial(1, Complete(8, 4))
    assert settled([ill, well], [0.1], 1.25)[1].outcomes[0.1] == Outpaced(9)
    assert settled([ill, well], [0.1], 1.5)[1].outcomes[0.1] == Infeasible(9)


def test_nobody_complete(work):
    result = race(work.with_(goals=(0.0,), step_limit=8), 2, trials=3)
    assert result.steps_to_result() is None
    assert result.winner() is None
    assert result.summary()["goals"][0]["winner"] is None
    assert set(result.counts()) <= {"incomplete", "infeasible"}


def test_a_cell_tells_what_a_person_would_ask(work):
    result = race(work, 8, trials=6)
    with pytest.raises(UsageError, match=r"this cell has 0.06, 0.1"):
        result.winner()
    summary = result.summary()
    assert summary["trials"] == 6 == sum(summary["goals"][0]["outcomes"].values())
    winner = result.winner(0.1)
    assert 0 <= winner.trial.test_errors[0.1] < 0.5
    assert summary["goals"][1]["metaparameters"] == winner.trial.metaparameters
    assert summary["image_passes"] == sum(t.steps * 8 + t.images_looked_at for t in result.trials)


def test_scores_are_computed_once(work, tmp_path, monkeypatch):
    import parsity.racing.scores as module

    calls = []
    original = module.scores
    monkeypatch.setattr(module, "scores", lambda *a, **k: calls.append(1) or original(*a, **k))
    masks = {}
    for batch_size in (4, 8):
        for sparsity in (0.5, 0.9):
            cell = Cell(workload=work, batch_size=batch_size, sparsity=sparsity, scores=Scores(tmp_path))
            for number in (1, 2):
                masks.setdefault((sparsity, number), cell.mask(number))
                assert cell.mask(number) == masks[sparsity, number]
    assert len(calls) == 2
    (first, _) = sorted(tmp_path.iterdir())
    contents = bytearray(first.read_bytes())
    contents[-3] ^= 1
    first.write_bytes(contents)
    cell = Cell(workload=work, batch_size=4, sparsity=0.5, scores=Scores(tmp_path))
    assert [cell.mask(n) for n in (1, 2)] == [masks[0.5, n] for n in (1, 2)]
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("batch_size", "sparsity", "patience", "words"),
    [
        (0, 0.0, 1.0, "batch size 0"),
        (2, 1.0, 1.0, "sparsity"),
        (2, 0.0, 0.5, "at least 1"),
        (2, 0.0, math.nan, "at least 1"),
    ],
)
def test_an_impossible_cell_is_refused(work, batch_size, sparsity, patience, words):
    with pytest.raises(UsageError, match=words):
        race(work, batch_size, sparsity, trials=1, patience=patience)


def test_the_callers_arithmetic_is_left_as_it_was(work):
    threads = torch.get_num_threads()
    race(work, 8, trials=1)
    assert sys.float_info.min / 2 > 0
    with arithmetic(threads=threads + 1):
        assert sys.float_info.min / 2 == 0
        race(work, 8, trials=1)
        assert sys.float_info.min / 2 == 0
        assert torch.get_num_threads() == threads + 1
    assert torch.get_num_threads() == threads
    assert sys.float_info.min / 2 > 0
