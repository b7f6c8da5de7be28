"""`Study`: a workload, its grid of cells, its budget of trials and its results, in one folder.

study.sqlite    the results (`Store`)
checkpoints/    states of trials under way
scores/         pruning scores of each trial number, shared by all cells
driver.pid      who is at work now
driver.json     what it is doing, for those who watch
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from parsity.errors import UsageError
from parsity.results import CellResult
from parsity.storage import driver_of, driving, told_to_stop
from parsity.study.announcing import Announcing, announced
from parsity.study.comparing import check_extension
from parsity.study.costs import Costs
from parsity.study.driver import Driver, How
from parsity.study.executors import Executor, LocalExecutor, RayExecutor, SerialExecutor
from parsity.study.planning import Piece
from parsity.study.reading import find_spec
from parsity.study.running import LeftPiece
from parsity.study.spec import StudySpec
from parsity.study.store import CellState, Damage, SetAside, Store, StoredTrial, TableRow, gather_provenance, verify
from parsity.study.tasks import Setting

STORE = "study.sqlite"
LOCK = "driver.pid"
ExecutorName = Literal["local", "serial", "ray"]


@dataclass(frozen=True)
class Ended:
    """How a run of the driver ended."""

    how: How
    set_aside: tuple[SetAside, ...]
    signal: int | None = None
    left: tuple[LeftPiece, ...] = ()
    """What used its passes up, and goes on in a run that allows more."""

    @property
    def exit_code(self) -> int:
        """0 all measured, 3 some set aside, 128 + n stopped by signal n."""
        if self.signal is not None and self.how == "interrupted":
            return 128 + self.signal
        return 3 if self.set_aside else 0


class Study:
    """A study on disk. Reading it needs no torch and does not disturb a driver at work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path | str, spec: StudySpec | str | Mapping[str, Any]) -> Study:
        """Make the study of ``spec`` (a spec, plain data, a study file or a preset's name), or extend the one there.

        A study that exists goes on if the specs are the same, grows if ``spec`` asks for more trials, batch sizes,
        sparsities, goals or patience, and is refused, with the differences, for any other change.
        """
        folder = Path(folder)
        spec = _as_spec(spec)
        if (folder / STORE).exists():
            with driving(folder / LOCK), Store.open(folder / STORE, writable=True) as store:
                old = StudySpec.from_document(store.spec, str(folder))
                if check_extension(old, spec, str(folder)):
                    store.grow(spec.document(), identity=spec.identity)
            return cls(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be made: {error.strerror}") from error
        with driving(folder / LOCK):
            Store.create(folder / STORE, spec=spec.document(), identity=spec.identity).close()
        return cls(folder)

    @classmethod
    def open(cls, folder: Path | str) -> Study:
        """The study in ``folder``."""
        folder = Path(folder)
        if not (folder / STORE).is_file():
            raise UsageError(f"{folder}: there is no study here; `parsity run` makes one")
        return cls(folder)

    @property
    def spec(self) -> StudySpec:
        """What the study measures."""
        with self.store() as store:
            return StudySpec.from_document(store.spec, str(self.folder))

    def store(self, *, writable: bool = False) -> Store:
        """The results; close it after use, or use it in a ``with`` statement."""
        return Store.open(self.folder / STORE, writable=writable)

    def table(self) -> tuple[TableRow, ...]:
        """K* of every cell and goal, with the winner."""
        with self.store() as store:
            return store.table()

    def trials(self) -> tuple[StoredTrial, ...]:
        """Every trial measured, settled."""
        with self.store() as store:
            return store.trials()

    def cells(self) -> tuple[CellResult, ...]:
        """Every cell with results."""
        with self.store() as store:
            return store.cells()

    def state(self) -> tuple[CellState, ...]:
        """How far every cell is."""
        with self.store() as store:
            return store.state()

    def digest(self) -> str:
        """The digest of what was measured: equal for equal results, however they were come by."""
        with self.store() as store:
            return store.digest()

    def verify(self) -> list[Damage]:
        """Everything that is not as it was written; an empty list is good news."""
        return verify(self.folder / STORE)

    @property
    def driver(self) -> int | None:
        """The process that is at work on the study, if any."""
        return driver_of(self.folder / LOCK)

    def announced(self, driver: int | None) -> dict[str, Any] | None:
        """What that process says it is doing: running tasks, images, seconds left; None where it says nothing."""
        return announced(self.folder, driver)

    def run(
        self,
        *,
        executor: ExecutorName = "local",
        workers: int | None = None,
        address: str | None = None,
        data_folder: Path | None = None,
        checkpoint_seconds: float = 60.0,
        passes: float = math.inf,
        watch: Callable[[Driver], None] = lambda driver: None,
    ) -> Ended:
        """Measure what is left. SIGINT and SIGTERM leave checkpoints and end the run; a second one ends it at once.

        ``workers`` tasks are run at a time, as many as there are cores for unless given; ``watch`` is called with the
        driver now and then. Trials that have gone ``passes`` times through the training split while nobody has reached
        their goal are left for later: their checkpoint stays, and a run that allows more goes on from it.
        With executor ray, ``address`` is that of a cluster there is; all of it is used unless ``workers`` says less.
        """
        with driving(self.folder / LOCK), self.store(writable=True) as store:
            spec = StudySpec.from_document(store.spec, str(self.folder))
            setting = Setting(
                spec=spec.to_json(),
                folder=self.folder.absolute(),
                data_folder=data_folder.absolute() if data_folder else None,
                checkpoint_seconds=checkpoint_seconds,
                passes=passes,
            )
            run = store.begin_run(gather_provenance(threads=spec.threads))
            how: How = "failed"
            announcing = Announcing(self.folder, then=watch)
            try:
                with _executor(executor, setting, workers, address, spec) as crew:
                    driver = Driver(store, spec, setting, crew, run=run, watch=announcing)
                    with told_to_stop(driver.ask_to_stop) as caught:
                        how = driver.drive()
            finally:
                announcing.close()
                store.end_run(run, how)
            return Ended(how, store.set_asides(), caught[0] if caught else None, tuple(driver.left))


def plan(spec: StudySpec, study: Study | None = None) -> list[Piece]:
    """What would be run for ``spec``, longest first; with ``study``, only what that has not measured yet."""
    costs = Costs(spec)
    if study is None:
        every = tuple(range(1, spec.trials + 1))
        pieces = [Piece(cell, every, costs.seconds(cell, spec.trials)) for cell in spec.cells()]
        return sorted(pieces, key=lambda piece: -piece.seconds)
    check_extension(study.spec, spec, str(study.folder))
    with study.store() as store:
        costs.learn_from(store.cells())
        pieces = [
            Piece(cell, tuple(due), costs.seconds(cell, len(due)))
            for cell in spec.cells()
            if (due := store.due(*cell, trials=spec.trials, goals=spec.goals, patience=spec.patience))
        ]
    return sorted(pieces, key=lambda piece: -piece.seconds)


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_workers(spec: StudySpec) -> int:
    """How many tasks this machine runs at a time unless it is told: as many as give each rank's threads a core."""
    return max(1, cores() // (spec.threads * spec.ranks))


def _as_spec(spec: StudySpec | str | Mapping[str, Any]) -> StudySpec:
    if isinstance(spec, StudySpec):
        return spec
    return find_spec(spec) if isinstance(spec, str) else StudySpec.from_document(spec)


def _executor(
    name: ExecutorName, setting: Setting, workers: int | None, address: str | None, spec: StudySpec
) -> Executor:
    if address is not None and name != "ray":
        raise UsageError(f"address {address}: it goes with executor ray")
    if name == "serial":
        if workers not in (None, 1):
            raise UsageError(f"workers {workers}: the serial executor has one")
        return SerialExecutor(setting)
    if workers is not None and workers < 1:
        raise UsageError(f"workers {workers}: it must be at least 1")
    if name == "local":
        return LocalExecutor(setting, workers=workers or usual_workers(spec), ranks=spec.ranks)
    if name == "ray":
        if spec.ranks > 1:
            raise UsageError(f"ranks {spec.ranks}: with executor ray a trial has 1; allowed are local and serial")
        return RayExecutor(
            setting,
            address=address,
            workers=workers,
            threads=spec.threads,
            gpu=spec.device.startswith("cuda"),
            names=[*spec.ingredients.model_dump().values(), spec.criterion],
            cores=cores(),
        )
    raise UsageError(f"executor {name!r}: allowed are {', '.join(get_args(ExecutorName))}")
