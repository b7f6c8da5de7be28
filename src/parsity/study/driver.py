"""The driver: plans all that is left of a study, keeps every worker busy, and is the store's only writer.

A task's results are acknowledged by the store before anything else is done with them, and before its checkpoint goes.
A task that ends without results is tried again up to three times, from its last checkpoint; then its trials are set
aside by name. Told to stop, it lets every task leave a checkpoint; the next driver goes on from there, or after a crash
from the checkpoint before.
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable
from typing import Literal

from parsity.errors import ParsityError
from parsity.results import CellResult
from parsity.study.costs import CellKey, Costs
from parsity.study.executors import Executor
from parsity.study.planning import Piece, cut, forget_checkpoint, pieces_left, tidy
from parsity.study.running import Eta, LeftPiece, Running
from parsity.study.spec import StudySpec
from parsity.study.store import AlreadyStoredError, Store
from parsity.study.tasks import Chosen, CutOff, Event, Failed, Finished, Left, Progressed, Reached, Setting, Task

logger = logging.getLogger(__name__)

TRIES = 4  # the first, and three more
How = Literal["finished", "interrupted", "failed"]


class Driver:
    """Runs a study to its end, once."""

    def __init__(
        self,
        store: Store,
        spec: StudySpec,
        setting: Setting,
        executor: Executor,
        *,
        run: int,
        watch: Callable[[Driver], None] = lambda driver: None,
    ) -> None:
        self.store = store
        self.spec = spec
        self.executor = executor
        self._run = run
        self._folder = setting.folder
        self._watch = watch
        self._costs = Costs(spec)
        self._numbers = itertools.count(1)
        self._attempts: dict[tuple[CellKey, tuple[int, ...]], int] = {}
        self._bounds: dict[CellKey, dict[float, float]] = {}
        self._seconds: dict[CellKey, float] = {}
        self._engines = dict(store.engines())
        self._images_done = 0
        self._warned: set[float] = set()
        self._fatal: ParsityError | None = None
        self._costs.learn_from(store.cells())
        tidy(store, setting.folder)
        self.waiting: list[Piece] = pieces_left(store, self._costs, setting.folder)
        self.running: dict[int, Running] = {}
        self.left: list[LeftPiece] = []
        self.newest: CellResult | None = None
        self.asked_to_stop = False
        self.stopping = False
        self.started = time.monotonic()

    def drive(self) -> How:
        """Run what is left. Returns when all is stored or set aside, or when it was told to `stop`."""
        self.executor.start(self._hear)
        while self.waiting:
            self._drive_once()
            # Whoever stopped for the sake of a bound whose trial was set aside has to go on after all.
            self.waiting = self._overlooked()
        self._watch(self)
        return "interrupted" if self.stopping else "finished"

    def _drive_once(self) -> None:
        while self.running or (self.waiting and not self.stopping):
            if self.asked_to_stop and not self.stopping:
                self.stop()
            while self.executor.idle and not self.stopping and (piece := self._next_piece()) is not None:
                self._submit(piece)
            self._watch(self)
            self.executor.wait(0.25)
            if self._fatal is not None:
                self.executor.close()
                raise self._fatal

    def _overlooked(self) -> list[Piece]:
        """What is due though everything planned has been run, but for what was set aside."""
        if self.stopping:
            return []
        aside = {(note.batch_size, note.sparsity, note.number) for note in self.store.set_asides()}
        self._bounds.clear()
        pieces = []
        aside |= {(*piece.cell, number) for piece in self.left for number in piece.trials}
        for piece in pieces_left(self.store, self._costs, self._folder):
            trials = tuple(number for number in piece.trials if (*piece.cell, number) not in aside)
            if trials:
                # A checkpoint would bring back the very outcomes that are in doubt.
                forget_checkpoint(self._folder, piece.cell, trials)
                pieces.append(Piece(piece.cell, trials, self._costs.seconds(piece.cell, len(trials))))
        return pieces

    def ask_to_stop(self) -> None:
        """All that a signal handler may do; the loop does the rest."""
        self.asked_to_stop = self.executor.asked_to_stop = True

    def stop(self) -> None:
        """Let every task leave its checkpoint, and end."""
        self.asked_to_stop = self.stopping = True
        self.executor.stop()

    @property
    def done(self) -> int:
        """How many cells have nothing left to run."""
        left = {piece.cell for piece in self.waiting} | {piece.cell for piece in self.left}
        left |= {running.task.cell for running in self.running.values()}
        return len(self.spec.cells()) - len(left)

    def best(self, cell: CellKey) -> float | None:
        """The fewest steps known for the first goal of a cell that still has to get there everywhere."""
        known = [self._bounds_of(cell).get(goal) for goal in self.spec.goals]
        return next((step for step in known if step is not None), None)

    def bounds(self, cell: CellKey) -> dict[float, float]:
        """The fewest steps known for each goal of a cell that any of its trials has reached."""
        return dict(self._bounds_of(cell))

    @property
    def images(self) -> int:
        """Images trained on or looked at since this driver began, in all tasks."""
        return self._images_done + sum(running.images - running.images_before for running in self.running.values())

    @property
    def eta(self) -> Eta:
        """When it should be done."""
        seconds = [running.left for running in self.running.values()] + [piece.seconds for piece in self.waiting]
        workers = max(self.executor.workers, 1)
        middle = max(sum(seconds) / workers, max((r.left for r in self.running.values()), default=0.0))
        doubt = self._costs.doubt(seconds)
        return Eta(middle / doubt, middle, middle * doubt)

    def _next_piece(self) -> Piece | None:
        """The longest that can begin: while a cell's engine is being chosen, the rest of the cell waits for that."""
        choosing = {running.task.cell for running in self.running.values() if running.task.engine == "auto"}
        choosing -= self._engines.keys()
        return next((piece for piece in self.waiting if piece.cell not in choosing), None)

    def _submit(self, piece: Piece) -> None:
        others = [other for other in self.waiting if other is not piece]
        first, *rest = cut(piece, others, self.executor.workers)
        self.waiting = rest + others
        key = (first.cell, first.trials)
        self._attempts[key] = self._attempts.get(key, 0) + 1
        task = Task(
            number=next(self._numbers),
            batch_size=first.cell[0],
            sparsity=first.cell[1],
            trials=first.trials,
            bounds=dict(self._bounds_of(first.cell)),
            attempt=self._attempts[key],
            engine=self._engine_of(first.cell),
        )
        self.running[task.number] = Running(task, first.seconds)
        self.executor.submit(task)

    def _engine_of(self, cell: CellKey) -> str:
        choice = self._engines.get(cell)
        if self.spec.engine != "auto" or choice is None:
            return self.spec.engine
        if choice.how == "kept":
            # Its results are older than notes of engines: noted now, so that no other can mix with it.
            self.store.choose(*cell, choice)
        return choice.engine

    def _bounds_of(self, cell: CellKey) -> dict[float, float]:
        if cell not in self._bounds:
            self._bounds[cell] = dict(self.store.bounds(*cell))
        return self._bounds[cell]

    def _hear(self, event: Event) -> None:
        running = self.running.get(event.task)
        if running is None:
            return  # the late word of a task that was given up
        match event:
            case Progressed():
                running.step, running.images, running.images_before = event.step, event.images, event.images_before
            case Reached():
                self._share(running.task, event.goal, event.step)
            case Chosen():
                self.store.choose(*running.task.cell, event.choice)
                self._engines[running.task.cell] = event.choice
            case CutOff():
                self._warn(running.task, event)
            case Finished():
                self._store(running, event)
            case Left():
                del self.running[event.task]
                self._images_done += running.images - running.images_before
                self.left.append(LeftPiece(running.task.cell, running.task.trials, event.step))
            case Failed():
                del self.running[event.task]
                self._try_again(running, event)
            case _:
                del self.running[event.task]
        self._watch(self)

    def _share(self, task: Task, goal: float, step: int) -> None:
        bounds = self._bounds_of(task.cell)
        if step < bounds.get(goal, math.inf):
            bounds[goal] = step
            for other in self.running.values():
                if other.task.cell == task.cell and other.task.number != task.number:
                    self.executor.share(other.task.number, goal, step)

    def _store(self, running: Running, event: Finished) -> None:
        task = running.task
        try:
            self.store.add(
                task.batch_size,
                task.sparsity,
                event.results,
                run=self._run,
                patience=self.spec.patience,
                goals=self.spec.goals,
                engine=event.engine,
                test=self.spec.test,
                mask_digests=event.mask_digests,
            )
        except AlreadyStoredError as error:
            logger.warning("%s: a late result is refused: %s", task, error)
        forget_checkpoint(self._folder, task.cell, task.trials)
        del self.running[event.task]
        self._images_done += sum(r.steps * task.batch_size + r.images_looked_at for r in event.results)
        self._images_done -= running.images_before
        seconds = sum(result.seconds for result in event.results)  # over all runs, so as to learn what a cell takes
        self._seconds[task.cell] = self._seconds.get(task.cell, 0.0) + seconds
        if not any(piece.cell == task.cell for piece in self.waiting) and not any(
            other.task.cell == task.cell for other in self.running.values()
        ):
            self.newest = self.store.cell(*task.cell)
            self._costs.learn(task.cell, len(self.newest.trials), self._seconds[task.cell])
            self._plan_anew()

    def _plan_anew(self) -> None:
        pieces = [Piece(p.cell, p.trials, self._costs.seconds(p.cell, len(p.trials)), p.resumed) for p in self.waiting]
        self.waiting = sorted(pieces, key=lambda piece: (not piece.resumed, -piece.seconds, piece.cell))

    def _warn(self, task: Task, event: CutOff) -> None:
        """Once for each sparsity: what one batch size's first trial shows, the others' would too."""
        if task.sparsity not in self._warned:
            self._warned.add(task.sparsity)
            logger.warning(
                "sparsity %g: the mask of trial %d leaves no path through %s; such a trial cannot learn, and runs to "
                "the step limit unless another one reaches the goal",
                *(task.sparsity, event.trial, ", ".join(event.layers)),
            )

    def _try_again(self, running: Running, event: Failed) -> None:
        task = running.task
        if event.final is not None:
            self._fatal = event.final(event.reason)
            return
        last = event.reason.strip().splitlines()[-1]
        if task.attempt < TRIES:
            logger.warning("%s: %s; trying again (%d of %d)", task, last, task.attempt, TRIES - 1)
            self.waiting.insert(0, Piece(task.cell, task.trials, running.seconds, resumed=True))
            return
        logger.error("%s: set aside after %d tries: %s", task, TRIES, event.reason.strip())
        self.store.set_aside(task.batch_size, task.sparsity, task.trials, last, TRIES)
