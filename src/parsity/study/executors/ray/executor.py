"""Workers on a Ray cluster: as many as it has room for, replaced when they or their machines die.

The crew follows the cluster: a machine that joins gets workers within seconds, one that leaves is not waited for. A
shard whose worker is gone fails, and the driver submits it again: it goes on from the checkpoint it last sent.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from parsity import __version__
from parsity.errors import ParsityError, UsageError
from parsity.study.executors.contract import Executor, Place
from parsity.study.executors.ray import worker as workers_side
from parsity.study.executors.ray.connecting import Cluster, library
from parsity.study.executors.ray.desk import Desk
from parsity.study.executors.ray.luggage import packed
from parsity.study.executors.ray.worker import Baggage, Hello
from parsity.study.tasks import Event, Failed, Final, Listener, Setting, Task

logger = logging.getLogger(__name__)

SILENCE = 600.0  # seconds without a sign of life after which a worker counts as hung
LOOK_EVERY = 5.0  # seconds between looks at how large the cluster is
PROGRESS_PER_SECOND = 500  # that the driver wants to hear of, from all workers together
STILLBORN = 4  # workers that died before they said a word, in a row: something is wrong with all of them


@dataclass
class _Worker:
    actor: Any
    awaited: Any
    """The reference whose value is expected next: its hello, then its news; None while it is idle."""
    hello: Hello | None = None
    task: Task | None = None
    heard: float = field(default_factory=time.monotonic)


class RayExecutor(Executor):
    """One actor per worker; each takes ``threads`` CPUs of the cluster, and one GPU where trials run there."""

    def __init__(
        self,
        setting: Setting,
        *,
        address: str | None = None,
        workers: int | None = None,
        threads: int = 1,
        gpu: bool = False,
        names: Iterable[str] = (),
        cores: int = 1,
        silence: float = SILENCE,
    ) -> None:
        """``address`` is that of a cluster there is; without, one of ``workers`` is started on this machine.

        ``names`` are the import paths of the study's workload, whose modules are sent along.
        """
        library(alone=address is None)  # whoever lacks it shall hear so before anything else happens
        self._setting = setting
        self._address = address
        self._limit = workers if workers is not None else None if address else max(1, cores // threads)
        self._needs = {"CPU": float(threads)} | ({"GPU": 1.0} if gpu else {})
        self._names = tuple(names)
        self._silence = silence
        self._crew: list[_Worker] = []
        self._slots = self._limit or 1
        self._looked = 0.0
        self._stillborn = 0
        self._stopping = False
        self._cluster: Cluster | None = None

    def start(self, listen: Listener) -> None:
        """Connect, send what all workers share, and have the first ones started."""
        self._listen = listen
        luggage = packed(self._names)
        cpus = int(self._needs["CPU"]) * (self._limit or 1)
        self._cluster = Cluster(self._address, cpus=cpus, gpus=self._limit if "GPU" in self._needs else None)
        ray, here = self._cluster.ray, self._cluster.here()
        sent = ray.put(luggage)
        load = ray.remote(workers_side.load_dataset).options(num_cpus=0, scheduling_strategy=here)
        desk = ray.remote(Desk).options(
            num_cpus=0, scheduling_strategy=here, max_restarts=-1, max_task_retries=-1, max_concurrency=8
        )
        self._baggage = ray.put(
            Baggage(
                setting=self._setting,
                dataset=load.remote(self._setting, sent),
                luggage=sent,
                desk=desk.remote(self._setting.folder),
            )
        )
        self._hire = ray.remote(
            num_cpus=self._needs["CPU"],
            num_gpus=self._needs.get("GPU", 0),
            max_concurrency=1,
            concurrency_groups={"beside": 3},
        )(workers_side.Worker)
        self._recruit()

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many the cluster has room for now."""
        return max(1, self._slots)

    @property
    def idle(self) -> int:
        """How many have said hello and have no task."""
        return 0 if self._stopping else sum(_is_idle(worker) for worker in self._crew)

    @property
    def crew(self) -> tuple[Place, ...]:
        """Everybody who has said hello."""
        return tuple(
            Place(worker.hello.node, worker.hello.process, worker.task.number if worker.task else None)
            for worker in self._crew
            if worker.hello is not None
        )

    def submit(self, task: Task) -> None:
        """Hand the task to an idle worker."""
        worker = next(worker for worker in self._crew if _is_idle(worker))
        worker.task, worker.heard = task, time.monotonic()
        worker.actor.run.remote(task)
        worker.awaited = self._news(worker)

    def share(self, task: int, goal: float, step: int) -> None:
        """Pass the news to the worker of that task."""
        for worker in self._crew:
            if worker.task is not None and worker.task.number == task:
                worker.actor.reached.options(concurrency_group="beside").remote(task, goal, step)

    def wait(self, seconds: float) -> None:
        """Deliver what workers say; notice who has gone, and who has come."""
        ray, deadline = self._ray, time.monotonic() + seconds
        while True:
            if time.monotonic() - self._looked > LOOK_EVERY:
                self._recruit()
            waited = {worker.awaited: worker for worker in self._crew if worker.awaited is not None}
            left = max(0.0, deadline - time.monotonic())
            if waited:
                ray.wait(list(waited), num_returns=1, timeout=left)
                ready = ray.wait(list(waited), num_returns=len(waited), timeout=0)[0]
            else:
                ready = []
                time.sleep(left)
            freed = [self._hear(waited[reference]) for reference in ready]
            for worker in [worker for worker in self._crew if worker.task is not None]:
                if time.monotonic() - worker.heard > self._silence:
                    self._replace(worker, f"it gave no sign of life for {self._silence:g} s")
                    freed.append(True)
            if any(freed) or time.monotonic() >= deadline:
                return

    def stop(self) -> None:
        """Ask every worker to leave its checkpoint."""
        self._stopping = True
        for worker in self._crew:
            worker.actor.stop.options(concurrency_group="beside").remote()

    def close(self) -> None:
        """End every worker, and the cluster where it is ours."""
        if self._cluster is not None:
            there = [worker for worker in self._crew if worker.hello is not None]
            packing = [worker.actor.pack_up.options(concurrency_group="beside").remote() for worker in there]
            if packing:
                self._ray.wait(packing, num_returns=len(packing), timeout=2.0)
            for worker in self._crew:
                self._dismiss(worker)
            self._crew = []
            self._cluster.close()
            self._cluster = None

    @property
    def _ray(self) -> Any:
        if self._cluster is None:
            raise UsageError("this executor has not been started")
        return self._cluster.ray

    def _recruit(self) -> None:
        """Make the crew as large as the cluster is, or as it was asked to be."""
        assert self._cluster is not None  # noqa: S101 - only called between start and close
        self._looked = time.monotonic()
        slots = self._cluster.slots(self._needs)
        self._slots = slots if self._limit is None else min(self._limit, slots)
        while len(self._crew) < self._slots and not self._stopping:
            actor = self._hire.remote(self._baggage)
            self._crew.append(_Worker(actor, actor.hello.remote()))

    def _news(self, worker: _Worker) -> Any:
        pace = max(0.5, len(self._crew) / PROGRESS_PER_SECOND)
        return worker.actor.news.options(concurrency_group="beside").remote(pace)

    def _hear(self, worker: _Worker) -> bool:
        """Deliver what a worker said; say whether it is free now."""
        try:
            said: Hello | list[Event] = self._ray.get(worker.awaited)
        except self._ray.exceptions.RayError as error:
            self._replace(worker, _why(error))
            return True
        worker.heard = time.monotonic()
        if isinstance(said, Hello):
            return self._welcome(worker, said)
        ended = False
        for event in said:
            if isinstance(event, Final):
                ended, worker.task = True, None
            self._listen(event)
        worker.awaited = None if ended else self._news(worker)
        return ended

    def _welcome(self, worker: _Worker, hello: Hello) -> bool:
        if hello.version != __version__:
            raise ParsityError(
                f"executor ray: {hello.node} has Parsity {hello.version}, the driver has {__version__}; "
                "they must be the same"
            )
        worker.hello, worker.awaited, self._stillborn = hello, None, 0
        return True

    def _replace(self, worker: _Worker, reason: str) -> None:
        """Let go of a worker. Whatever it may still say, nobody listens to it."""
        self._dismiss(worker)
        self._crew.remove(worker)
        if worker.hello is None:
            self._stillborn += 1
            if self._stillborn >= STILLBORN and not any(other.hello for other in self._crew):
                raise ParsityError(f"executor ray: no worker could be started: {reason}")
        if not self._stopping:
            self._recruit()
        if worker.task is not None:
            who = f"worker {worker.hello.process} on {worker.hello.node}" if worker.hello else "a worker"
            self._listen(Failed(task=worker.task.number, reason=f"{who} ended: {reason}"))

    def _dismiss(self, worker: _Worker) -> None:
        with contextlib.suppress(Exception):  # it may be gone already, or its cluster
            self._ray.kill(worker.actor, no_restart=True)


def _is_idle(worker: _Worker) -> bool:
    return worker.hello is not None and worker.task is None


def _why(error: Exception) -> str:
    """The sentence of Ray's that says what happened, on one line."""
    text = " ".join(str(error).split())
    for beginning in ("Worker exit detail:", "The actor is dead because"):
        _, found, rest = text.partition(beginning)
        if found:
            text = rest if beginning.endswith(":") else f"it {rest.strip()}"
            break
    return text.strip().split(". ")[0][:300]
