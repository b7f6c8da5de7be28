"""One task by several processes that share every batch: started for it, told what comes in, and ended with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from parsity.engines import arithmetic
from parsity.parallel import Group, ParallelCell, ParallelShard, Say, device_of, launch
from parsity.racing import LeftForLaterError, Scores
from parsity.study.news import News
from parsity.study.planning import SCORES, checkpoint_path
from parsity.study.spec import StudySpec
from parsity.study.tasks import Finished, Left, Listener, Setting, Stopped, StopRequestedError, Task

Letter = tuple[float, int] | None
"""What the ranks are told: a goal that others of the cell have reached and the step, or nothing, which is to stop."""


@dataclass(frozen=True, kw_only=True)
class RankedTask:
    """What each rank does of ``task``; rank 0 speaks for all, and saves what all go on from."""

    setting: Setting
    task: Task
    device: str

    def run(self, group: Group, say: Say) -> Finished | Stopped | Left:
        """Race the task's trials together; told to stop, leave a checkpoint."""
        task, setting = self.task, self.setting
        spec = StudySpec.from_json(setting.spec)
        cell = ParallelCell(
            workload=spec.make_workload(),
            batch_size=task.batch_size,
            sparsity=task.sparsity,
            patience=spec.patience,
            seed=spec.seed,
            engine_name=task.engine,
            device=device_of(spec.device, group.rank),
            test=spec.test,
            data_folder=setting.data_folder,
            scores=Scores(setting.folder / SCORES),
            group=group,
        )
        cell.agree()
        news = News(task, say)

        def pause() -> None:
            # All ranks read the same letters at the same moment, and so decide the same.
            for letter in group.told():
                if letter is None:
                    raise StopRequestedError
                news.hear(*letter)

        shard = ParallelShard(
            cell=cell,
            numbers=task.trials,
            bounds=news,
            checkpoint=checkpoint_path(setting.folder, task.cell, task.trials),
            checkpoint_seconds=setting.checkpoint_seconds,
            pause=pause,
            watch=news.tell,
            passes=setting.passes,
        )
        try:
            with arithmetic(threads=spec.threads):
                results = shard.run()
        except StopRequestedError:
            return Stopped(task=task.number)
        except LeftForLaterError as left:
            return Left(task=task.number, step=left.step)
        sent = cell.engine.meter.bytes_per_step
        return Finished(
            task=task.number,
            results=tuple(replace(result, bytes_per_step=sent) for result in results),
            engine=cell.engine.inner.name,
            mask_digests={number: mask.digest for number, mask in shard.masks.items()},
        )


def by_ranks(job: RankedTask, ranks: int, listen: Listener, ask: Callable[[], list[Letter]]) -> Finished | Left:
    """Let ``ranks`` processes do ``job``; raises `StopRequestedError` where they were told to stop, and did."""
    ended = launch(job, workers=ranks, say=listen, ask=ask)
    if isinstance(ended, Stopped):
        raise StopRequestedError
    return ended
