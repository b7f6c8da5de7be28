"""A worker of the cluster: an actor that races one shard after the other, on whatever machine Ray put it.

It shares no disk with its driver. The data set and the user's modules come out of Ray's object store, once per machine;
checkpoints and scores come from the desk and go there; events wait here until the driver fetches them.
"""

from __future__ import annotations

import importlib
import os
import queue
import shutil
import socket
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity import __version__
from parsity.errors import ParsityError
from parsity.study.executors.ray.luggage import unpack
from parsity.study.planning import checkpoint_path
from parsity.study.tasks import (
    Event,
    Failed,
    Finished,
    Left,
    Progressed,
    Setting,
    Stopped,
    StopRequestedError,
    Task,
)

if TYPE_CHECKING:
    from parsity.data import Dataset
    from parsity.study.working import Bench


@dataclass(frozen=True)
class Hello:
    """A worker is there, and ready for a task."""

    node: str
    process: int
    version: str


@dataclass(frozen=True, kw_only=True)
class Baggage:
    """What every worker is sent: handles of what lies in the object store, and of the desk."""

    setting: Setting
    dataset: Any
    """Of an object that may not be there yet."""
    luggage: Any
    desk: Any


def load_dataset(setting: Setting, luggage: bytes) -> Dataset:
    """The study's data set, loaded where the driver is; run as a Ray task."""
    folder = Path(tempfile.mkdtemp(prefix="parsity-"))
    try:
        unpack(luggage, folder)
        from parsity.study.spec import StudySpec

        dataset = StudySpec.from_json(setting.spec).make_workload().load_data(setting.data_folder)
        dataset.digest  # noqa: B018 - computed once, here, and sent along
        return dataset
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Worker:
    """Methods are called by the driver, through Ray: `run` in one thread, the others beside it in another."""

    def __init__(self, baggage: Baggage) -> None:
        # Several workers on one machine: numerical libraries must not start threads of their own besides torch's.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self._baggage = baggage
        self._scratch = tempfile.TemporaryDirectory(prefix="parsity-", ignore_cleanup_errors=True)
        self._folder = Path(self._scratch.name)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._orders: queue.SimpleQueue[tuple[int, float, int]] = queue.SimpleQueue()
        self._stopping = False
        self._bench: Bench | None = None  # made with the first task, so that its errors are a task's
        self._checkpoint = _Sent(self._folder)

    def hello(self) -> Hello:
        """Say who is here, once torch is loaded."""
        import torch

        torch.set_num_threads(1)
        return Hello(node=_address(), process=os.getpid(), version=__version__)

    def run(self, task: Task) -> None:
        """Race the task's trials; what becomes of it is an event."""
        event: Event
        try:
            event = self._run(task)
        except StopRequestedError:
            event = Stopped(task=task.number)
        except ParsityError as error:
            event = Failed.of(task, error)
        except Exception:
            event = Failed(task=task.number, reason=traceback.format_exc())
        self._events.put(event)

    def news(self, seconds: float) -> list[Event]:
        """What has happened, as soon as more than mere progress has, and after ``seconds`` at the latest."""
        deadline = time.monotonic() + seconds
        found: list[Event] = []
        newest: Progressed | None = None
        while not found or not self._events.empty():
            try:
                event = self._events.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if isinstance(event, Progressed):
                newest = event
            else:
                found.append(event)
        return [newest, *found] if newest is not None else found

    def reached(self, task: int, goal: float, step: int) -> None:
        """Another shard of the cell of ``task`` has reached ``goal``."""
        self._orders.put((task, goal, step))

    def stop(self) -> None:
        """Leave a checkpoint, and end."""
        self._stopping = True

    def pack_up(self) -> None:
        """Leave nothing on this machine; the driver ends this process next."""
        self._stopping = True
        self._scratch.cleanup()

    def _run(self, task: Task) -> Finished | Left:
        self._task = task.number
        if self._bench is None:
            self._bench = self._make_bench()
        self._checkpoint = _Sent(checkpoint_path(self._folder, task.cell, task.trials))
        kept = _asked(self._baggage.desk.read, self._checkpoint.name)
        if kept is not None:
            self._checkpoint.take(kept)
        try:
            ended = self._bench.run(task)
            if isinstance(ended, Left):
                self._checkpoint.send(self._write)
            return ended
        except StopRequestedError:
            self._checkpoint.send(self._write)
            raise
        finally:
            self._checkpoint.path.unlink(missing_ok=True)

    def _make_bench(self) -> Bench:
        from parsity.racing import Scores
        from parsity.study.working import Bench

        unpack(_fetched(self._baggage.luggage), self._folder / "luggage")
        return Bench(
            replace(self._baggage.setting, folder=self._folder),
            self._events.put,
            self._poll,
            dataset=_fetched(self._baggage.dataset),
            scores=Scores(_Shelf(self._baggage.desk)),
        )

    def _poll(self) -> None:
        if self._stopping:
            raise StopRequestedError
        self._checkpoint.send(self._write)
        while not self._orders.empty():
            task, goal, step = self._orders.get()
            # Calls may overtake each other: what was said of an earlier task is not true of this one's cell.
            if task == self._task and self._bench is not None:
                self._bench.hear(goal, step)

    def _write(self, name: str, contents: bytes) -> None:
        _asked(self._baggage.desk.write, name, contents)


class _Sent:
    """A checkpoint on this machine, and whether the desk has it as it is now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"{path.parent.name}/{path.name}"
        self._sent: object = None

    def take(self, contents: bytes) -> None:
        """Begin with what the desk has."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(contents)
        self._sent = self._version()

    def send(self, write: Callable[[str, bytes], None]) -> None:
        """Send what was saved since."""
        version = self._version()
        if version not in (None, self._sent):
            write(self.name, self.path.read_bytes())
            self._sent = version

    def _version(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns  # saving puts another file in its place


@dataclass(frozen=True)
class _Shelf:
    """The desk's folder of scores."""

    desk: Any

    def read(self, name: str) -> bytes | None:
        found: bytes | None = _asked(self.desk.read, f"scores/{name}")
        return found

    def write(self, name: str, contents: bytes) -> None:
        _asked(self.desk.write, f"scores/{name}", contents)


def _asked(method: Any, *words: object) -> Any:
    """What the desk answers."""
    return _fetched(method.remote(*words))


def _fetched(reference: Any) -> Any:
    """What a reference stands for; an error of ours comes as it was raised, without Ray's frame around it."""
    ray: Any = importlib.import_module("ray")
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ParsityError):
            raise error.cause from None
        raise


def _address() -> str:
    ray: Any = importlib.import_module("ray")
    return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
