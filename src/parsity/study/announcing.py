"""What a driver at work says of itself, in a small file beside the store, for those who watch from other processes.

Of no value once the driver has gone, and no part of the results: nobody waits for it to reach the disk, and where it
cannot be written, the driver works on without it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parsity.study.driver import Driver

ANNOUNCEMENT = "driver.json"
EVERY = 1.0  # seconds from one word to the next
NEWEST = 20  # finished cells that are remembered


class Announcing:
    """Watches a driver, and writes down now and then what it sees."""

    def __init__(self, folder: Path, *, then: Callable[[Driver], None] = lambda driver: None) -> None:
        """``then`` is called whenever this is."""
        self._path = folder / ANNOUNCEMENT
        self._then = then
        self._written = -EVERY
        self._newest: list[dict[str, Any]] = []

    def __call__(self, driver: Driver) -> None:
        """Called often; writes when it is time."""
        self._note(driver)
        now = time.monotonic()
        if now - self._written >= EVERY:
            self._written = now
            self._write(driver)
        self._then(driver)

    def close(self) -> None:
        """The driver has ended."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _note(self, driver: Driver) -> None:
        newest = driver.newest
        if newest is None:
            return
        cell = {"batch_size": newest.batch_size, "sparsity": newest.sparsity}
        if not self._newest or not cell.items() <= self._newest[-1].items():
            self._newest = [*self._newest, {**cell, "at": time.time()}][-NEWEST:]

    def _write(self, driver: Driver) -> None:
        eta = driver.eta
        said = {
            "process": os.getpid(),
            "at": time.time(),
            "seconds": time.monotonic() - driver.started,
            "stopping": driver.stopping,
            "workers": driver.executor.workers,
            "images": driver.images,
            "left": {"low": eta.low, "middle": eta.middle, "high": eta.high},
            "newest": self._newest,
            "running": [
                {
                    "batch_size": running.task.batch_size,
                    "sparsity": running.task.sparsity,
                    "trials": len(running.task.trials),
                    "step": running.step,
                    "reached": {str(goal): step for goal, step in driver.bounds(running.task.cell).items()},
                }
                for running in driver.running.values()
            ],
        }
        # Whole or not there, as far as a reader can see; whether it outlives the machine is nobody's concern.
        temporary = self._path.with_name(f".{ANNOUNCEMENT}")
        with suppress(OSError):
            temporary.write_text(json.dumps(said))
            temporary.replace(self._path)


def announced(folder: Path, process: int | None) -> dict[str, Any] | None:
    """What the driver in ``process`` has said last, if it has said anything."""
    if process is None:
        return None
    with suppress(OSError, ValueError):
        said = json.loads((folder / ANNOUNCEMENT).read_text())
        if isinstance(said, dict) and said.get("process") == process:
            return said
    return None
