"""Any sequence of operations, against a model that is a dictionary of results."""

import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from make_believe import GOALS, INTERVAL, add, best_steps, finish, finished_digest, measured, seen, spec_of, truth

from parsity.results import Complete, Outcome, Outpaced, TrialResult
from parsity.study import AlreadyStoredError, Store

KEYS = [(2, 0.0), (2, 0.9), (8, 0.0), (8, 0.9)]
GROWTHS: list[dict[str, Any]] = [
    {"trials": 6},
    {"trials": 9},
    {"patience": 1.1},
    {"patience": 1.4},
    {"patience": 2.5},
    {"patience": "inf"},
    {"goals": list(GOALS[:2])},
    {"goals": list(GOALS)},
    {"batch_sizes": [2, 8]},
]


class StoreMachine(RuleBasedStateMachine):
    """One study: trials come in any order and split, the spec grows, the file is closed and opened."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.kept: dict[tuple[int, float], dict[int, tuple[float, TrialResult]]] = {key: {} for key in KEYS}
        self.aside: dict[tuple[int, float], set[int]] = {key: set() for key in KEYS}
        self.spec: dict[str, Any] = {}

    @initialize(trials=st.integers(3, 5), patience=st.sampled_from([1, 1.3, 2]))
    def create(self, trials: int, patience: float) -> None:
        self.spec = spec_of(batch_sizes=[2], goals=GOALS[:1], trials=trials, patience=patience)
        self.store = Store.create(self.folder / "s", spec=self.spec, identity="f" * 64)
        self.run = self.store.begin_run({})

    @property
    def goals(self) -> tuple[float, ...]:
        return tuple(self.spec["goals"])

    @property
    def patience(self) -> float:
        return float(self.spec["patience"])

    def keys(self) -> list[tuple[int, float]]:
        return [key for key in KEYS if key[0] in self.spec["batch_sizes"] and key[1] in self.spec["sparsities"]]

    def due(self, key: tuple[int, float]) -> list[int]:
        """From the words of the contract: missing, lacking a goal, or stopped before the last check it may reach."""
        kept, numbers = self.kept[key], range(1, self.spec["trials"] + 1)
        outstanding = set(numbers) - set(kept) - self.aside[key]
        found = []
        for number in numbers:
            patience, result = kept.get(number, (0.0, None))
            if result is None or set(result.outcomes) < set(self.goals):
                found.append(number)
                continue
            # Without a result outstanding, not even the patience it was run with may reach further.
            allowed = self.patience if patience < self.patience else 0 if outstanding else patience
            for goal, outcome in result.outcomes.items():
                if isinstance(outcome, Outpaced) and outcome.step + INTERVAL <= allowed * self.best(key, goal):
                    found.append(number)
                    break
        return found

    def best(self, key: tuple[int, float], goal: float) -> float:
        steps = [r.outcomes[goal].step for _, r in self.kept[key].values() if complete(r.outcomes.get(goal))]
        return min(steps, default=math.inf)

    @rule(data=st.data(), key=st.sampled_from(KEYS), late=st.sampled_from([0, 16, math.inf]))
    def run_some(self, data: st.DataObject, key: tuple[int, float], late: float) -> None:
        if key not in self.keys() or not (due := self.due(key)):
            return
        numbers = data.draw(st.lists(st.sampled_from(due), min_size=1, max_size=3, unique=True))
        best = best_steps(*key, range(1, self.spec["trials"] + 1), self.goals)
        bounds = {goal: step + late for goal, step in best.items()}
        results = [measured(*key, number, self.patience, bounds) for number in numbers]
        add(self.store, *key, results, self.run, self.patience)
        self.kept[key] |= {result.number: (self.patience, result) for result in results}
        self.aside[key] -= set(numbers)

    @rule(data=st.data(), key=st.sampled_from(KEYS))
    def come_late(self, data: st.DataObject, key: tuple[int, float]) -> None:
        final = sorted(set(self.kept[key]) - set(self.due(key)))
        if key not in self.keys() or not final:
            return
        number = data.draw(st.sampled_from(final))
        patience = self.kept[key][number][0]
        fresh = max(self.kept[key]) + 1
        results = [measured(*key, one, patience, dict.fromkeys(self.goals, math.inf)) for one in (fresh, number)]
        try:
            add(self.store, *key, results, self.run, patience)
        except AlreadyStoredError as error:
            assert error.numbers == (number,)
        else:
            raise AssertionError("a late result was taken")

    @rule(key=st.sampled_from(KEYS), number=st.integers(1, 9))
    def set_aside(self, key: tuple[int, float], number: int) -> None:
        if key in self.keys() and number in self.due(key):
            self.store.set_aside(*key, [number], "killed", 3)
            self.aside[key].add(number)

    @rule(more=st.sampled_from(GROWTHS))
    def grow(self, more: dict[str, Any]) -> None:
        for name, value in more.items():
            new, old = (len(v) if isinstance(v, list) else float(v) for v in (value, self.spec[name]))
            if new >= old:
                self.spec = {**self.spec, name: value}
        self.store.grow(self.spec)

    @rule(writable=st.booleans())
    def open_again(self, writable: bool) -> None:
        if not writable:
            with Store.open(self.folder / "s") as reader:
                assert reader.digest() == self.store.digest()
            return
        self.store.close()
        self.store = Store.open(self.folder / "s", writable=True)
        self.run = self.store.begin_run({})

    @precondition(lambda self: self.spec)
    @invariant()
    def the_store_is_as_the_model(self) -> None:
        assert self.store.spec == self.spec
        assert self.store.verify() == []
        notes = {(note.batch_size, note.sparsity, note.number) for note in self.store.set_asides()}
        assert notes == {(*key, number) for key, numbers in self.aside.items() for number in numbers}
        table = {(row.batch_size, row.sparsity, row.goal): row for row in self.store.table()}
        for key in self.keys():
            kept = {n: result for n, (_, result) in self.kept[key].items() if n <= self.spec["trials"]}
            assert self.store.due(*key) == self.due(key)
            bounds = {goal: self.best(key, goal) for goal in GOALS}
            assert self.store.bounds(*key) == {goal: best for goal, best in bounds.items() if best < math.inf}
            whole = {n: result for n, result in kept.items() if set(self.goals) <= set(result.outcomes)}
            assert [trial.number for trial in self.store.cell(*key).trials] == sorted(whole)
            for goal in self.goals:
                best = self.best_of(kept, goal)
                row = table[*key, goal]
                assert row.steps_to_result == (None if math.isinf(best) else best)
                assert row.trials == sum(goal in result.outcomes for result in kept.values())
                if not self.store.due(*key):
                    for trial in self.store.cell(*key).trials:
                        end = seen(truth(*key, trial.number, goal), self.patience, best)
                        assert status(trial.outcomes[goal]) == status(end)

    def best_of(self, kept: dict[int, TrialResult], goal: float) -> float:
        return min((r.outcomes[goal].step for r in kept.values() if complete(r.outcomes.get(goal))), default=math.inf)

    def teardown(self) -> None:
        if self.spec:
            finish(self.store, self.run)
            assert self.store.digest() == finished_digest(self.folder, self.spec)
            self.store.close()
        shutil.rmtree(self.folder)


def complete(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Complete)


def status(outcome: Outcome) -> tuple[Any, ...]:
    return ("outpaced",) if isinstance(outcome, Outpaced) else (outcome.status, outcome.step)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=40, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
