"""A study on a cluster, event by event, without training: the driver, its pieces, shared bounds, workers that die.

It does what the driver of `parsity.study` does: pieces wait, the longest in front; whenever a worker is idle, the
first is cut by the sharding rule under test, its first part becomes a task, and the other parts wait in its place. A
task's trials advance in lockstep; the step at which one is complete becomes the bound of all tasks of that cell, which
end at patience times the bound. What dies is tried again at once, from its last checkpoint. Seconds come from recorded
step costs; what is measured is the makespan, and where the cores' time went.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from parsity.planning.cells import CellKey, Lockstep, SimulatedCell


class Piece(Protocol):
    """What the sharding rule takes and gives: trials of a cell, and the core-seconds they are expected to take."""

    @property
    def cell(self) -> CellKey:
        """Batch size and sparsity."""

    @property
    def trials(self) -> tuple[int, ...]:
        """Their numbers."""

    @property
    def seconds(self) -> float:
        """Expected."""


P = TypeVar("P", bound=Piece)
Cut = Callable[[P, Sequence[P], int], list[P]]
"""(piece, those waiting behind it, workers) -> its parts."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What costs time besides steps, in seconds, and how often workers die."""

    task: float = 0.3
    """Of any task: handing it over, making its engine."""
    begin: float = 0.02
    """Of any trial of a task: its network, its mask from scores that are kept."""
    scores: float = 0.0
    """Of the scores of a pruned trial number that nobody has kept yet."""
    news: float = 0.5
    """Until a bound has reached the other tasks of its cell."""
    life: float = math.inf
    """The mean time between two deaths of one worker."""
    checkpoint: float = 60.0
    replaced: float = 10.0
    """Until a dead worker's place is taken."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What became of a study, in seconds; all but ``makespan`` and ``chain`` are core-seconds."""

    workers: int
    makespan: float
    needed: float
    """Steps without which an outcome would not be known."""
    overrun: float
    """Steps beyond them."""
    prepared: float
    """Handing over tasks, beginning trials, scores."""
    lost: float
    """Done again, or waited for, after a worker died."""
    idle: float
    chain: float
    """The longest trial of all."""
    tasks: int

    @property
    def ideal(self) -> float:
        """Neither the work divided by the cores nor the longest chain can be beaten."""
        return max(self.needed / self.workers, self.chain)

    @property
    def waste(self) -> float:
        """The share of busy cores' time that no outcome needed."""
        return 1 - self.needed / (self.needed + self.overrun + self.prepared + self.lost)


def simulate(
    cells: Sequence[SimulatedCell],
    pieces: Sequence[P],
    cut: Cut[P],
    workers: int,
    conditions: Conditions | None = None,
) -> Simulated:
    """Run ``pieces``, the longest first, on so many workers."""
    run = _Run(cells, pieces, cut, workers, conditions or Conditions())
    run.go()
    needed = sum(cell.needed for cell in cells)
    return Simulated(
        workers=workers,
        makespan=run.finished,
        needed=needed,
        overrun=run.computed - needed,
        prepared=run.prepared,
        lost=run.lost,
        idle=workers * run.finished - run.computed - run.prepared - run.lost,
        chain=max(cell.chain for cell in cells),
        tasks=run.number,
    )


@dataclass
class _Task(Generic[P]):
    piece: P
    work: Lockstep
    started: float
    preparing: float
    before: float
    """Seconds of computing that its checkpoint brought along."""
    announced: bool
    """Whether the cell has heard of its best trial, or need not."""
    version: int = 0
    """Of what is scheduled for it: older events are void."""

    def computed(self, now: float) -> float:
        return self.before + max(0.0, now - self.started - self.preparing)


class _Run(Generic[P]):
    """One simulation on its way. Events are (time, order, what, number of the task, version)."""

    def __init__(
        self, cells: Sequence[SimulatedCell], pieces: Sequence[P], cut: Cut[P], workers: int, conditions: Conditions
    ) -> None:
        self.cells = {cell.key: cell for cell in cells}
        self.waiting = list(pieces)
        self.cut = cut
        self.workers = self.idle = workers
        self.conditions = conditions
        self.retries: list[tuple[P, float]] = []
        self.bounds: dict[CellKey, float] = {}
        self.scores: dict[int, float] = {}
        self.tasks: dict[int, _Task[P]] = {}
        self.of_cell: dict[CellKey, set[int]] = {}
        self.news: dict[int, tuple[CellKey, float]] = {}
        self.events: list[tuple[float, int, str, int, int]] = []
        self.chance = random.Random(conditions.seed)
        self.number = self.order = 0
        self.now = self.finished = 0.0
        self.computed = self.prepared = self.lost = 0.0

    def go(self) -> None:
        what_to_do = {
            "reached": self._reached,
            "ended": self._ended,
            "died": self._died,
            "news": self._news,
            "replaced": self._replaced,
        }
        self._submit()
        while self.events:
            self.now, _, what, number, version = heapq.heappop(self.events)
            task = self.tasks.get(number)
            if version and (task is None or task.version != version):
                continue
            what_to_do[what](number)
            self._submit()

    def _submit(self) -> None:
        while self.idle and (self.waiting or self.retries):
            if self.retries:
                piece, before = self.retries.pop()
            else:
                piece, *rest = self.cut(self.waiting[0], self.waiting[1:], self.workers)
                self.waiting[:1] = rest
                before = 0.0
            self.idle -= 1
            self.number += 1
            work = Lockstep(self.cells[piece.cell], piece.trials)
            announced = math.isinf(work.best) or (before > 0 and work.seconds(work.best) <= before)
            task = _Task(piece, work, self.now, self._preparing(piece), before, announced)
            self.tasks[self.number] = task
            self.of_cell.setdefault(piece.cell, set()).add(self.number)
            self._schedule(self.number)
            if math.isfinite(self.conditions.life):
                self._push(self.now + self.chance.expovariate(1 / self.conditions.life), "died", self.number)

    def _preparing(self, piece: P) -> float:
        """Seconds until its trials have begun; tasks that lack the same scores at the same time all compute them."""
        at = self.now + self.conditions.task
        for number in piece.trials:
            at += self.conditions.begin
            if piece.cell[1] and self.scores.get(number, math.inf) > at:
                at += self.conditions.scores
                self.scores[number] = min(self.scores.get(number, math.inf), at)
        return at - self.now

    def _schedule(self, number: int) -> None:
        """When the task has something to say, as things stand: that a trial is complete, or that it ends."""
        task = self.tasks[number]
        task.version += 1
        known = self.bounds.get(task.piece.cell, math.inf)
        best = task.work.best
        end = min(task.work.last, self.cells[task.piece.cell].patience * min(known, best))
        announces = not task.announced and best < known and best <= end
        left = task.work.seconds(best if announces else end) - task.computed(self.now)
        ready = max(self.now, task.started + task.preparing)
        self._push(ready + max(0.0, left), "reached" if announces else "ended", number, task.version)

    def _reached(self, number: int) -> None:
        task = self.tasks[number]
        task.announced = True
        self._schedule(number)
        self.news[number] = (task.piece.cell, task.work.best)
        self._push(self.now + self.conditions.news, "news", number)

    def _news(self, number: int) -> None:
        cell, best = self.news.pop(number)
        if best < self.bounds.get(cell, math.inf):
            self.bounds[cell] = best
            for other in self.of_cell.get(cell, set()):
                self._schedule(other)

    def _ended(self, number: int) -> None:
        task = self._remove(number)
        self.idle += 1
        self.finished = self.now
        self.prepared += task.preparing
        self.computed += task.computed(self.now)

    def _died(self, number: int) -> None:
        if number not in self.tasks:
            return  # its worker lives on with another task
        task = self._remove(number)
        done = task.computed(self.now) - task.before
        saved = self.conditions.checkpoint * (done // self.conditions.checkpoint)
        self.prepared += min(task.preparing, self.now - task.started)
        self.lost += done - saved + self.conditions.replaced
        self.retries.append((task.piece, task.before + saved))
        self._push(self.now + self.conditions.replaced, "replaced")

    def _replaced(self, _: int) -> None:
        self.idle += 1

    def _remove(self, number: int) -> _Task[P]:
        task = self.tasks.pop(number)
        self.of_cell[task.piece.cell].discard(number)
        return task

    def _push(self, time: float, what: str, number: int = 0, version: int = 0) -> None:
        self.order += 1
        heapq.heappush(self.events, (time, self.order, what, number, version))
