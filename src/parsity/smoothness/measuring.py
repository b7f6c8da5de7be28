"""Measuring: every sparsity's training is followed side by side, and each point is stored as soon as it is known.

Side by side, so that whenever it is stopped all sparsities are equally far. A point's numbers depend on the spec alone:
not on the other sparsities, nor on where the measurement was stopped and gone on from.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from parsity.data import Dataset, split
from parsity.engines import arithmetic, make_engine
from parsity.racing import Scores
from parsity.results import LipschitzPoint, NoisePoint
from parsity.smoothness.descent import Descent
from parsity.smoothness.hessian import Hessian, curvature
from parsity.smoothness.lipschitz import lipschitz_point
from parsity.smoothness.noise import noise_point
from parsity.smoothness.place import Place
from parsity.smoothness.spec import SmoothnessSpec
from parsity.smoothness.store import STORE, Point, SmoothnessStore
from parsity.storage import driving, gather_provenance, told_to_stop
from parsity.training import derived_seed

LOCK = "smoothness.pid"
How = Literal["finished", "interrupted", "failed"]


class _StopRequestedError(Exception):
    """Raised between parts of a pass, to end the measurement."""


@dataclass(frozen=True)
class Ended:
    """How a measurement ended."""

    how: How
    signal: int | None = None

    @property
    def exit_code(self) -> int:
        """0 all measured, 128 + n stopped by signal n."""
        return 128 + self.signal if self.signal is not None and self.how == "interrupted" else 0


@dataclass
class Progress:
    """How far a measurement is: what its watcher is shown, often."""

    total: int
    done: int = 0
    sparsity: float = 0.0
    step: int = 0
    doing: str = "preparing"
    newest: tuple[float, Point] | None = None
    started: float = field(default_factory=time.monotonic)
    took: dict[tuple[str, float], list[float]] = field(default_factory=dict)
    due: list[tuple[str, float]] = field(default_factory=list)

    @property
    def seconds_left(self) -> float | None:
        """What the points that are due took so far, at their sparsity or else at any; None before there is any."""
        if not self.took:
            return None
        return sum(self._expected(kind, sparsity) for kind, sparsity in self.due)

    def _expected(self, kind: str, sparsity: float) -> float:
        alike = self.took.get((kind, sparsity)) or [s for (k, _), some in self.took.items() if k == kind for s in some]
        alike = alike or [s for some in self.took.values() for s in some]
        # The newest tell best how fast the machine is now.
        return sum(alike[-5:]) / len(alike[-5:])


def measure(
    folder: Path,
    spec: SmoothnessSpec,
    *,
    dataset: Dataset | None = None,
    data_folder: Path | None = None,
    threads: int = 1,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Ended:
    """Measure what is left of ``spec`` in ``folder``; SIGINT and SIGTERM end it, nothing stored is ever lost.

    A measurement that is there goes on; one that asked for less grows; one that asked for something else is refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with driving(folder / LOCK):
        if not (folder / STORE).exists():
            SmoothnessStore.create(folder / STORE, spec).close()
        with SmoothnessStore.open(folder / STORE, writable=True) as store:
            store.grow(spec)
            run, how = store.begin_run(gather_provenance(threads=threads)), "failed"
            try:
                stop: list[bool] = []
                with told_to_stop(lambda: stop.append(True)) as caught, arithmetic(threads=threads):
                    try:
                        _Measurement(folder, spec, store, run, dataset, data_folder, stop, watch).run()
                        how = "finished"
                    except _StopRequestedError:
                        how = "interrupted"
            finally:
                store.end_run(run, how)
    return Ended("finished" if how == "finished" else "interrupted", caught[0] if caught else None)


class _Measurement:
    def __init__(
        self,
        folder: Path,
        spec: SmoothnessSpec,
        store: SmoothnessStore,
        run: int,
        dataset: Dataset | None,
        data_folder: Path | None,
        stop: list[bool],
        watch: Callable[[Progress], None],
    ) -> None:
        self.folder, self.spec, self.store, self.run_number = folder, spec, store, run
        self._stop, self._watch = stop, watch
        measured = store.measured()
        self._lost = store.infeasible()
        self.left = [
            (step, kind, sparsity)
            for step, kind in spec.due()
            for sparsity in spec.sparsities
            if (sparsity, step, kind) not in measured and step < self._lost.get(sparsity, math.inf)
        ]
        # By step, then by sparsity: what is measured at one place shares its full gradient.
        self.left.sort(key=lambda one: (one[0], one[2]))
        self.progress = Progress(total=len(self.left) + len(measured), done=len(measured))
        self.progress.due = [(kind, sparsity) for _, kind, sparsity in self.left]
        if not self.left:
            return
        workload = spec.workload
        self.data = dataset if dataset is not None else workload.load_data(data_folder)
        self._pause()
        self.split = split(len(self.data.images))
        # In the order of the file: the sum is the same, and memory is walked through once.
        self.images = self.split.train[: spec.images].sort().values
        self.network = workload.make_network(derived_seed(spec.seed, "weights", spec.trial))
        scores = Scores(folder / "scores")
        seed = derived_seed(spec.seed, "pruning", spec.trial)
        engine = make_engine(
            spec.engine, workload.make_network(derived_seed(spec.seed, "weights", spec.trial)), self.data
        )
        self.descents = {}
        for sparsity in sorted({sparsity for _, _, sparsity in self.left}):
            self._pause()
            mask = None
            if sparsity:
                mask = scores.mask(workload, self.network, self.data, sparsity=sparsity, seed=seed).flat
            self.descents[sparsity] = Descent(
                spec,
                sparsity,
                engine=engine,
                network=self.network,
                mask=mask,
                split=self.split,
                checkpoint=folder / f"smoothness-{sparsity:g}.checkpoint",
            )

    def run(self) -> None:
        """Measure all that is left."""
        for sparsity, step in self._first_steps():
            self.descents[sparsity].resume(step)
        for sparsity, step, kinds in self._stops():
            self.progress.sparsity, self.progress.step = sparsity, step
            self._measure(self.descents[sparsity], step, kinds)

    def _first_steps(self) -> Iterator[tuple[float, int]]:
        for sparsity in self.descents if self.left else ():
            yield sparsity, min(step for step, _, one in self.left if one == sparsity)

    def _stops(self) -> Iterator[tuple[float, int, list[str]]]:
        together: dict[tuple[int, float], list[str]] = {}
        for step, kind, sparsity in self.left:
            together.setdefault((step, sparsity), []).append(kind)
        for (step, sparsity), kinds in together.items():
            yield sparsity, step, kinds

    def _measure(self, descent: Descent, step: int, kinds: list[str]) -> None:
        if descent.sparsity in self._lost:
            self.progress.due = self.progress.due[len(kinds) :]
            return
        self.progress.doing = "training"
        going_on = descent.advance_to(step, self._pause)
        if going_on:
            descent.save()
            place = Place(
                replica=descent.looking,
                snapshot=descent.snapshot(),
                step=step,
                images=self.images,
                pause=self._pause,
            )
            for kind in kinds:
                self.progress.doing = kind
                started = time.perf_counter()
                if kind == "lipschitz":
                    going_on = descent.advance_to(step + 1, self._pause)
                    if not going_on:
                        break
                self._keep(descent, kind, place, started)
        if not going_on:
            self._lost[descent.sparsity] = descent.step
            self.store.add_infeasible(descent.sparsity, descent.step, run=self.run_number)
            self.progress.due = [(k, s) for k, s in self.progress.due if s != descent.sparsity]

    def _keep(self, descent: Descent, kind: str, place: Place, started: float) -> None:
        point = self._point(descent, kind, place)
        seconds = time.perf_counter() - started
        self.store.add(descent.sparsity, point, run=self.run_number, seconds=seconds)
        progress = self.progress
        progress.done += 1
        progress.newest = (descent.sparsity, point)
        progress.took.setdefault((kind, descent.sparsity), []).append(seconds)
        progress.due = progress.due[1:]
        self._watch(progress)

    def _point(self, descent: Descent, kind: str, place: Place) -> Point:
        if kind == "lipschitz":
            return self._lipschitz(descent, place)
        if kind == "noise":
            return self._noise(place)
        spec = self.spec
        images = self._sample(spec.curvature_images, "curvature", 0)
        hessian = Hessian(self.network, self.data, images, place.snapshot.weights, descent.mask, pause=self._pause)
        return curvature(
            hessian,
            step=place.step,
            images=len(images),
            iterations=spec.lanczos,
            probes=spec.probes,
            seed=derived_seed(spec.seed, "curvature", place.step),
        )

    def _lipschitz(self, descent: Descent, place: Place) -> LipschitzPoint:
        return lipschitz_point(place, descent.snapshot(), gammas=self.spec.gammas, validation=self.split.validation)

    def _noise(self, place: Place) -> NoisePoint:
        exact = place.step == 0 or self.spec.noise_images >= len(self.images)
        return noise_point(place, sample=None if exact else self._sample(self.spec.noise_images, "noise", place.step))

    def _sample(self, count: int, what: Literal["noise", "curvature"], step: int) -> Tensor:
        """Some of the images, drawn without replacement."""
        generator = torch.Generator().manual_seed(derived_seed(self.spec.seed, what, step))
        order = torch.randperm(len(self.images), generator=generator)
        return self.images[order[:count]].sort().values

    def _pause(self) -> None:
        self._watch(self.progress)
        if self._stop:
            raise _StopRequestedError
