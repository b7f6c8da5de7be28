"""A study as it is this moment, looked at again and again: for the verbs that watch and serve.

The store is read only when it has changed. What the driver says of itself, in `driver.json`, is of this moment; without
a word from it, all but images per second comes from the store alone.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parsity.cli.studies import open_study
from parsity.errors import BusyError, DamagedError, UsageError

if TYPE_CHECKING:
    from parsity.study import Overview, Study

RECENT = 30.0  # seconds over which images per second are reckoned
NEWEST = 20  # finished cells that are remembered
PATIENCE = 3.0  # seconds after which a file that is no store is not one that is being put in place
CHANGES = slice(24, 28)  # of SQLite's header: how often the file was written to
BEFORE = {"driver.pid", "driver.json", "checkpoints", "scores"}
"""What may lie in a study's folder without a store."""
State = Literal["finished", "running", "begun", "waiting"]
Key = tuple[int, float]


@dataclass(frozen=True)
class Absence:
    """There is nothing to be seen now, and why; it may come."""

    folder: Path
    why: str
    busy: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {"folder": str(self.folder), "absent": self.why}


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What there is to be seen."""

    document: dict[str, Any]
    stamp: str
    """The same as long as the store and who is at work are."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run, and nobody tries again what was set aside."""
        return bool(self.document["finished"]) and self.document["driver"] is None


@dataclass
class Looking:
    """Looks at the study in ``folder``, and remembers what does not change from look to look."""

    folder: Path
    _stamp: str | None = None
    _found: dict[str, Any] = field(default_factory=dict)
    _identity: str | None = None
    _done: set[Key] = field(default_factory=set)
    _newest: list[Key] = field(default_factory=list)
    _images: deque[tuple[float, int]] = field(default_factory=deque)
    _process: int | None = None
    _misfit_since: float | None = None

    def look(self) -> Sight | Absence:
        """What there is now.

        A study that is not there yet, is being replaced, or is held by somebody for long, is an `Absence`; raises what
        does not mend itself: a folder of something else, a damaged store.
        """
        try:
            stamp = stamp_of(self.folder)
            if stamp is None:
                return self._absent()
            study = open_study(self.folder)
            if stamp != self._stamp:
                self._read(study, stamp)
        except BusyError as error:
            return Absence(self.folder, str(error), busy=True)
        except (DamagedError, UsageError) as error:
            return self._misfit(error)
        self._misfit_since = None
        driver = study.driver
        return Sight(document=self._with_driver(study, driver), stamp=f"{self._stamp} {driver}")

    def _absent(self) -> Absence:
        """Nothing there, or only what a driver puts there before the store; anything else is a mistake."""
        folder = self.folder
        if self._identity is None and folder.exists():
            names = [path.name for path in folder.iterdir()] if folder.is_dir() else [""]
            if not all(name in BEFORE or name.startswith(".study.sqlite") for name in names):
                open_study(folder)  # which says what is there instead
        self._stamp = None
        what = "the study has gone; waiting for it to come back" if self._identity else "there is no study yet; waiting"
        return Absence(folder, f"{folder}: {what} (`parsity run` makes one)")

    def _misfit(self, error: DamagedError | UsageError) -> Absence:
        """Half a file is what copying looks like from the outside; what stays like this is damage."""
        self._stamp = None
        now = time.monotonic()
        self._misfit_since = self._misfit_since or now
        if self._identity is None or now - self._misfit_since > PATIENCE:
            raise error
        return Absence(self.folder, f"{self.folder}: the study cannot be read, or is being replaced; looking again")

    def _read(self, study: Study, stamp: str) -> None:
        with study.store() as store:
            seen = store.overview()
        if seen.identity != self._identity:
            self._done.clear()
            self._newest.clear()
        self._found = _found(study, seen)
        done = {_key(cell) for cell in self._found["cells"] if cell["state"] == "finished"}
        if self._identity == seen.identity:
            self._newest += sorted(done - self._done)
        self._done, self._identity, self._stamp = done, seen.identity, stamp

    def _with_driver(self, study: Study, driver: int | None) -> dict[str, Any]:
        found = {**self._found, "driver": driver, "at": time.time()}
        said = study.announced(driver)
        found["cells"] = [_cell_now(cell, (said or {}).get("running", ())) for cell in found["cells"]]
        newest = [_key(one) for one in (said or {}).get("newest", ())] or self._newest
        cells = {_key(cell): cell for cell in found["cells"]}
        found["newest"] = [cells[key] for key in newest[-NEWEST:] if key in cells]
        found["images_per_second"] = self._rate(driver, said)
        if said is not None and not found["finished"]:
            left = said["left"]
            found["left"] = {"low": left["low"], "middle": left["middle"], "high": left["high"]}
        found["workers"] = said["workers"] if said else None
        found["stopping"] = bool(said and said["stopping"])
        return found

    def _rate(self, driver: int | None, said: Mapping[str, Any] | None) -> float | None:
        """Of the last half minute, and before there was one, since the driver began."""
        if driver != self._process:
            self._images.clear()
            self._process = driver
        if said is None:
            return None
        at, images = float(said["at"]), int(said["images"])
        if not self._images or self._images[-1][0] != at:
            self._images.append((at, images))
        while at - self._images[0][0] > RECENT:
            self._images.popleft()
        first, before = self._images[0]
        if at - first < 1:
            return images / said["seconds"] if said["seconds"] > 0 else None
        return max(images - before, 0) / (at - first)


def stamp_of(folder: Path) -> str | None:
    """Another text whenever the store in ``folder`` is another, or was written to; None where there is none."""
    from parsity.study import STORE

    with suppress(FileNotFoundError, NotADirectoryError):
        with (folder / STORE).open("rb") as stream:
            changes, about = stream.read(CHANGES.stop)[CHANGES], os.fstat(stream.fileno())
        return f"{about.st_ino} {about.st_size} {about.st_mtime_ns} {changes.hex()}"
    return None


def _found(study: Study, seen: Overview) -> dict[str, Any]:
    """All that the store says."""
    from parsity.cli.status import described

    whole = described(study, seen)
    keys = ("folder", "name", "workload", "identity", "goals", "batch_sizes", "sparsities", "finished", "trials")
    steps: dict[Key, dict[float, int | None]] = {}
    winners: dict[Key, dict[float, int | None]] = {}
    for row in seen.table:
        steps.setdefault((row.batch_size, row.sparsity), {})[row.goal] = row.steps_to_result
        winners.setdefault((row.batch_size, row.sparsity), {})[row.goal] = row.winner
    cells = []
    for cell in seen.cells:
        key = cell.batch_size, cell.sparsity
        aside = len(set(cell.due) & set(cell.set_aside))
        due = 0 if "imported" in seen.spec else len(cell.due) - aside
        state: State = "waiting" if due and not cell.measured else "begun" if due else "finished"
        cells.append(
            {
                "batch_size": cell.batch_size,
                "sparsity": cell.sparsity,
                "state": state,
                "steps": steps[key],
                "winner": winners[key],
                "planned": cell.planned,
                "measured": cell.measured,
                "set_aside": aside,
                "step": None,
            }
        )
    expected = whole["expected"]
    return {
        **{key: whole[key] for key in keys},
        "cells": cells,
        "image_passes": whole["image_passes"],
        "seconds": whole["seconds"],
        # With as many workers as this machine has room for; a driver knows better.
        "left": expected
        and {
            "low": expected["low"] / expected["workers"],
            "middle": expected["seconds"],
            "high": expected["high"] / expected["workers"],
        },
    }


def _cell_now(cell: Mapping[str, Any], running: Any) -> dict[str, Any]:
    """With what its running tasks have reached since the store last heard of it."""
    tasks = [task for task in running if _key(task) == _key(cell)]
    if not tasks or cell["state"] == "finished":
        return dict(cell)
    steps = dict(cell["steps"])
    for task in tasks:
        for text, step in task["reached"].items():
            goal = float(text)
            if goal in steps:
                steps[goal] = min(int(step), steps[goal] or int(step))
    return {**cell, "state": "running", "steps": steps, "step": min(int(task["step"]) for task in tasks)}


def _key(cell: Mapping[str, Any]) -> Key:
    return int(cell["batch_size"]), float(cell["sparsity"])
