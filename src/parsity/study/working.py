"""Running one task, in whatever process: the only place of a study that trains, and that needs torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from parsity.data import Dataset
from parsity.engines import Calibrator, arithmetic, usual_memory
from parsity.racing import Cell, LeftForLaterError, Scores, Shard, calibrator_of, choose_engine
from parsity.study.news import News
from parsity.study.planning import SCORES, checkpoint_path
from parsity.study.ranked import Letter, RankedTask, by_ranks
from parsity.study.spec import StudySpec
from parsity.study.tasks import Chosen, CutOff, Finished, Left, Listener, Setting, StopRequestedError, Task


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
        self._news: News | None = None
        self._letters: list[Letter] | None = None

    def hear(self, goal: float, step: int) -> None:
        """Somebody else who runs the present task's cell has reached ``goal``."""
        if self._letters is not None:
            self._letters.append((goal, step))
        elif self._news is not None:
            self._news.hear(goal, step)

    def run(self, task: Task) -> Finished | Left:
        """Race the task's trials; raising from ``poll`` leaves a checkpoint, from which the same task goes on."""
        checkpoint = checkpoint_path(self._setting.folder, task.cell, task.trials)
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        if self._spec.ranks > 1:
            return self._run_by_ranks(task)
        self._news = News(task, self._listen)
        with arithmetic(threads=self._spec.threads):
            cell = self._chosen(self._cell(task), task)
            if task.sparsity and (layers := cell.cut_off(task.trials[0])):
                self._listen(CutOff(task=task.number, trial=task.trials[0], layers=layers))
        shard = Shard(
            cell=cell,
            numbers=task.trials,
            bounds=self._news,
            checkpoint=checkpoint,
            checkpoint_seconds=self._setting.checkpoint_seconds,
            pause=self._poll,
            watch=self._news.tell,
            passes=self._setting.passes,
        )
        try:
            with arithmetic(threads=self._spec.threads):
                results = shard.run()
        except LeftForLaterError as left:
            return Left(task=task.number, step=left.step)
        return Finished(
            task=task.number,
            results=results,
            engine=cell.engine.name,
            mask_digests={number: mask.digest for number, mask in shard.masks.items()},
        )

    def _run_by_ranks(self, task: Task) -> Finished | Left:
        """The same by several processes, while this one passes on what there is to hear."""
        ranks = self._spec.ranks
        if task.engine == "auto":
            # By what a rank will compute, the larger part of a batch; and once, so that all ranks compute alike.
            part = replace(self._cell(task), batch_size=math.ceil(task.batch_size / ranks))
            with arithmetic(threads=self._spec.threads):
                task = replace(task, engine=self._chosen(part, task).engine_name)
        letters: list[Letter] = []
        stopping = False

        def ask() -> list[Letter]:
            nonlocal stopping
            if not stopping:
                try:
                    self._poll()
                except StopRequestedError:
                    stopping = True
                    letters.append(None)
            found = letters.copy()
            letters.clear()
            return found

        self._letters = letters
        try:
            job = RankedTask(setting=self._setting, task=task, device=self._spec.device)
            return by_ranks(job, ranks, self._listen, ask)
        finally:
            self._letters = None

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

    def _cell(self, task: Task) -> Cell:
        spec = self._spec
        if self._dataset is None:
            self._dataset = self._workload.load_data(self._setting.data_folder)
        return Cell(
            workload=self._workload,
            batch_size=task.batch_size,
            sparsity=task.sparsity,
            patience=spec.patience,
            seed=spec.seed,
            engine_name=task.engine,
            device=spec.device,
            test=spec.test,
            dataset=self._dataset,
            scores=self._scores,
        )
