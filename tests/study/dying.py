"""Runs of a study that die at a named point; many of them, forked from a process that has imported everything.

Reads lines of JSON: the study's folder, the executor, who is to die (the driver or a worker) and where. For each it
forks a child, which runs the study; a line says how the child ended.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import parsity.study.executors.local
import parsity.study.working
from parsity.racing.shard import Shard
from parsity.study import Store, Study

POINTS: dict[str, tuple[Any, str, str]] = {
    "at a check": (Shard, "_paused", "before"),
    "before a file is synced": (os, "fsync", "before"),
    "before a file takes its place": (Path, "replace", "before"),
    "after a file took its place": (Path, "replace", "after"),
    "before a checkpoint goes": (Path, "unlink", "before"),
    "before results are stored": (Store, "add", "before"),
    "after results were stored": (Store, "add", "after"),
}


def arm(point: str, count: int, who: str) -> None:
    """Let this process, or each of its workers, be killed when it is at ``point`` for the ``count``-th time."""
    home, name, when = POINTS[point]
    original: Callable[..., Any] = getattr(home, name)
    left = count

    def killing(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        mine = (multiprocessing.parent_process() is None) == (who == "driver")
        if mine and when == "before":
            left -= 1
            die_at_zero()
        result = original(*arguments, **named)
        if mine and when == "after":
            left -= 1
            die_at_zero()
        return result

    def die_at_zero() -> None:
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(home, name, killing)


def run(order: dict[str, Any]) -> int:
    """What the child does."""
    # Workers that are forked are there at once, and die where they are told to.
    fork = multiprocessing.get_context("fork")
    parsity.study.executors.local.multiprocessing.get_context = lambda method: fork
    if "point" in order:
        arm(order["point"], order["count"], order["who"])
    study = Study.open(Path(order["folder"]))
    return study.run(executor=order["executor"], workers=order.get("workers"), checkpoint_seconds=0.0).exit_code


def main() -> None:
    """Obey until there is nobody who gives orders."""
    torch.set_num_threads(1)  # what is forked must not miss its other threads
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2) if "quiet" in order else (0, 1):
                os.dup2(silence, stream)
            code = 70
            try:
                code = run(order)
            finally:
                os._exit(code)
        if "seconds" in order:
            time.sleep(order["seconds"])
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
