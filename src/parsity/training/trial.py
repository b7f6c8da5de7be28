"""One trial as an explicit state: advanced by any number of steps, saved, restored and continued bit for bit.

Steps count finished updates. The loss of the step after ``t`` updates is taken before the update; if it, or a weight
after that update, is not finite, the trial is infeasible at ``t``. Goals are asked about when the step is a multiple
of the check interval; step 0 is not asked about.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from parsity.data import Batches, Split
from parsity.engines import Engine, Snapshot, stopwatch
from parsity.errors import UsageError
from parsity.metaparameters import Metaparameters
from parsity.optimisation import make_rule
from parsity.results import Complete, Incomplete, Infeasible, Outcome, Outpaced
from parsity.training.definition import Workload
from parsity.training.goal_test import CertifiedTest, ConfidentTest, GoalTest
from parsity.training.seeds import derived_seed

IMAGES_AT_ONCE = 4096
"""How many images are trained on before control comes back: what an interruption may have to wait for."""


@dataclass(frozen=True)
class LogEntry:
    """What an optional log keeps at each check."""

    step: int
    training_loss: float
    validation_error: float


@dataclass(frozen=True)
class TrialState:
    """All that a trial is: enough to go on bit for bit."""

    number: int
    step: int
    snapshot: Snapshot
    memory: Tensor
    outcomes: dict[float, Outcome]
    images_looked_at: int
    test_errors: dict[float, float] = field(default_factory=dict)
    log: tuple[LogEntry, ...] = ()
    losses: tuple[float, ...] = ()
    seconds: float = 0.0
    """What its training and tests took so far: a measurement, which nothing depends on."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What the trials of one cell share."""

    workload: Workload
    batch_size: int
    engine: Engine
    split: Split
    seed: int = 0
    test: str = "certified"
    log: bool = False


@dataclass(eq=False)
class Trial:
    """One training run of a cell, with the metaparameters of its number."""

    conditions: Conditions
    metaparameters: Metaparameters
    mask: Tensor | None
    state: TrialState
    _losses: list[float] = field(init=False)

    def __post_init__(self) -> None:
        c, number = self.conditions, self.state.number
        self.number, self.step = number, self.state.step
        self.outcomes: dict[float, Outcome] = dict(self.state.outcomes)
        self.images_looked_at = self.state.images_looked_at
        self.test_errors: dict[float, float] = dict(self.state.test_errors)
        self.log = list(self.state.log)
        self._losses = list(self.state.losses)
        self._paces: list[float] = []  # measurements, and no part of the state
        self.timed_steps = 0
        self.seconds = self.state.seconds
        self._rule = make_rule(c.workload.optimiser, c.workload.schedule, self.metaparameters)
        self._batches = Batches(len(c.split.train), c.batch_size, derived_seed(c.seed, "order", number))
        self._goal_test = self._make_test()
        self._goal_test.memory = self.state.memory.clone()
        self.replica = c.engine.replica(
            self.state.snapshot, mask=self.mask, seed=derived_seed(c.seed, "network", number)
        )
        del self.state  # from here on the attributes are the state; `save` makes it again

    @classmethod
    def begin(
        cls, conditions: Conditions, number: int, *, weights: Tensor, buffers: Sequence[Tensor], mask: Tensor | None
    ) -> Trial:
        """Trial ``number`` before its first step."""
        workload = conditions.workload
        metaparameters = workload.space.trial(number)
        slots = make_rule(workload.optimiser, workload.schedule, metaparameters).optimiser.slots
        snapshot = Snapshot(weights, tuple(torch.zeros_like(weights) for _ in range(slots)), tuple(buffers))
        memory = torch.zeros(len(conditions.split.validation))
        return cls(conditions, metaparameters, mask, TrialState(number, 0, snapshot, memory, {}, 0))

    def save(self) -> TrialState:
        """The state as it is now."""
        return TrialState(
            self.number,
            self.step,
            self.replica.snapshot(),
            self._goal_test.memory.clone(),
            dict(self.outcomes),
            self.images_looked_at,
            dict(self.test_errors),
            tuple(self.log),
            tuple(self._losses),
            self.seconds,
        )

    @property
    def pending(self) -> tuple[float, ...]:
        """The goals without an outcome."""
        return tuple(goal for goal in self.conditions.workload.goals if goal not in self.outcomes)

    @property
    def images(self) -> int:
        """How many images it has trained on or looked at, repetitions counted."""
        return self.step * self.conditions.batch_size + self.images_looked_at

    @property
    def step_seconds(self) -> float | None:
        """What a training step takes, without goal tests: the median over the calls since this object was made."""
        return statistics.median(self._paces) if self._paces else None

    def work(self) -> bool:
        """Train for a moment, at most to the next check and its goal test; say whether that was reached.

        Calling it until ``pending`` is empty runs the trial to its end.
        """
        clock = stopwatch(self.conditions.engine.device)
        began = clock()
        try:
            return self._work(clock)
        finally:
            self.seconds += clock() - began

    def _work(self, clock: Callable[[], float]) -> bool:
        interval = self.conditions.workload.check_interval
        to_check = interval - self.step % interval
        steps = min(to_check, max(1, IMAGES_AT_ONCE // self.conditions.batch_size))
        started = clock()
        self._train(steps)
        if self.pending:  # else it became infeasible, and looked for the step
            self._paces.append((clock() - started) / steps)
            self.timed_steps += steps
        if self.step % interval:
            return not self.pending
        if self.pending:
            self._check()
        return True

    def outpace(self, goal: float) -> None:
        """Give up on ``goal``: another trial has made it impossible to win."""
        self.outcomes[goal] = Outpaced(self.step)

    def _train(self, steps: int) -> None:
        train = self.conditions.split.train
        batches = [train[self._batches.indices(self.step + index)] for index in range(steps)]
        before = self.replica.snapshot()
        losses = self.replica.advance(batches, self._rule, self.step)
        if not (torch.isfinite(losses).all() and self.replica.finite()):
            self._find_infeasible(before, batches)
            return
        if self.conditions.log:
            self._losses += losses.tolist()
        self.step += steps

    def _find_infeasible(self, before: Snapshot, batches: Sequence[Tensor]) -> None:
        """Repeat the steps one by one from where all was finite; the first that is not is the outcome's."""
        self.replica.restore(before)
        for batch in batches:
            loss = self.replica.advance([batch], self._rule, self.step)
            if not (torch.isfinite(loss).all() and self.replica.finite()):
                break
            self.step += 1
        for goal in self.pending:
            self.outcomes[goal] = Infeasible(self.step)

    def _check(self) -> None:
        workload = self.conditions.workload
        if self.conditions.log:
            self._write_log()
        verdict = self._goal_test(self.replica.margins, self.pending, self.step)
        self.images_looked_at += verdict.looked
        for goal, met in verdict.met.items():
            if met:
                self.outcomes[goal] = Complete(self.step, self.step - workload.check_interval)
            elif self.step >= workload.step_limit:
                self.outcomes[goal] = Incomplete(self.step)

    def _write_log(self) -> None:
        validation = self.conditions.split.validation
        right = int((self.replica.margins(validation) > 0).sum())
        loss = sum(self._losses) / len(self._losses)
        self.log.append(LogEntry(self.step, loss, 1 - right / len(validation)))
        self._losses.clear()

    def _make_test(self) -> GoalTest:
        c = self.conditions
        if c.test == CertifiedTest.name:
            return CertifiedTest(c.split.validation)
        if c.test == ConfidentTest.name:
            return ConfidentTest(c.split.validation, derived_seed(c.seed, "network", self.number))
        raise UsageError(f"goal test {c.test!r}: allowed are {CertifiedTest.name}, {ConfidentTest.name}")
