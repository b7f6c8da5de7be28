"""Running one task, in whatever process: the only place of a study that trains, and that needs torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from parsity.data import Dataset
from parsity.engines import Calibrator, arithmetic, usual_memory
from parsity.racing import Cell, LocalBounds, Runner, Scores, Shard, calibrator_of, choose_engine
from parsity.study.planning import SCORES, checkpoint_path
from parsity.study.spec import StudySpec
from parsity.study.tasks import Chosen, Finished, Listener, Progressed, Reached, Setting, Task

TELL_EVERY = 0.5  # seconds between signs of life


class Bench:
    """One process's place of work: the data set is loaded once, and tasks are run one after the other."""

    def __init__(
        self,
        setting: Setting,
        listen: Listener,
        poll: Callable[[], None],
        *,
        dataset: Dataset | None = None,
        scores: Scores | None = None,
    ) -> None:
        """``listen`` takes events; ``poll`` is called every moment of training, and may raise to end the task.

        The data set is loaded, and scores are kept in the study's folder, unless they are given.
        """
        self._setting = setting
        self._listen = listen
        self._poll = poll
        self._spec = StudySpec.from_json(setting.spec)
        self._workload = self._spec.make_workload()
        self._dataset = dataset
        self._scores = scores or Scores(setting.folder / SCORES)
        self._calibrator: Calibrator | None = None
        self._news: _News | None = None

    def hear(self, goal: float, step: int) -> None:
        """Somebody else who runs the present task's cell has reached ``goal``."""
        if self._news is not None:
            self._news.hear(goal, step)

    def run(self, task: Task) -> Finished:
        """Race the task's trials; raising from ``poll`` leaves a checkpoint, from which the same task goes on."""
        started = time.perf_counter()
        if self._dataset is None:
            self._dataset = self._workload.load_data(self._setting.data_folder)
        self._news = _News(task, self._listen)
        checkpoint = checkpoint_path(self._setting.folder, task.cell, task.trials)
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        with arithmetic(threads=self._spec.threads):
            cell = self._chosen(self._cell(task, self._dataset), task)
        shard = Shard(
            cell=cell,
            numbers=task.trials,
            bounds=self._news,
            checkpoint=checkpoint,
            checkpoint_seconds=self._setting.checkpoint_seconds,
            pause=self._poll,
            watch=self._news.tell,
        )
        with arithmetic(threads=self._spec.threads):
            results = shard.run()
        return Finished(
            task=task.number,
            results=results,
            engine=cell.engine.name,
            mask_digests={number: mask.digest for number, mask in shard.masks.items()},
            seconds=time.perf_counter() - started,
        )

    def _chosen(self, cell: Cell, task: Task) -> Cell:
        """``cell`` with the engine that its task names, or with the one that is chosen here and now."""
        if task.engine != "auto":
            return cell
        if self._calibrator is None:
            self._calibrator = calibrator_of(cell, memory=usual_memory())
        self._poll()
        choice = choose_engine(cell, self._calibrator, number=task.trials[0])
        self._listen(Chosen(task=task.number, choice=choice))
        return replace(cell, engine_name=choice.engine)

    def _cell(self, task: Task, dataset: Dataset) -> Cell:
        spec = self._spec
        return Cell(
            workload=self._workload,
            batch_size=task.batch_size,
            sparsity=task.sparsity,
            patience=spec.patience,
            seed=spec.seed,
            engine_name=task.engine,
            device=spec.device,
            test=spec.test,
            dataset=dataset,
            scores=self._scores,
        )


class _News(LocalBounds):
    """A task's bounds: what its own trials reach is told to the driver, what others reach comes in by `hear`."""

    def __init__(self, task: Task, listen: Listener) -> None:
        super().__init__(task.bounds)
        self._task = task
        self._listen = listen
        self._last_told = 0.0

    def hear(self, goal: float, step: int) -> None:
        super().offer(goal, step)

    def offer(self, goal: float, step: int) -> None:
        if step < self.best(goal):
            self._listen(Reached(task=self._task.number, goal=goal, step=step))
        super().offer(goal, step)

    def tell(self, runner: Runner | None) -> None:
        """Say now and then how far the task is; without a runner, that it is still preparing."""
        now = time.monotonic()
        if now - self._last_told < TELL_EVERY:
            return
        self._last_told = now
        trials = runner.trials if runner is not None else []
        self._listen(
            Progressed(
                task=self._task.number,
                step=min((trial.step for trial in trials if trial.pending), default=0),
                images=sum(trial.images_trained_on + trial.images_looked_at for trial in trials),
            )
        )
