"""`step_times`: seconds of a training step, by slice, workers and sparsity, split into compute and exchange."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parsity.data import Batches
from parsity.engines import arithmetic
from parsity.errors import UsageError
from parsity.optimisation import make_rule
from parsity.parallel.cell import ParallelCell
from parsity.parallel.group import Group
from parsity.parallel.job import Say
from parsity.parallel.launching import launch
from parsity.parallel.losing import TIMEOUT
from parsity.parallel.meter import Costs
from parsity.parallel.training import TrainingJob
from parsity.pruning import Mask, check_sparsity
from parsity.results import StepTime, StepTimes
from parsity.training import Workload, derived_seed
from parsity.training import workload as built_in

WARM_UP = 3
"""Steps before the clock starts: the first ones allocate, and choose kernels."""
AT_ONCE = 16
"""Steps a worker alone takes in one call at most, as a trial does between two checks."""
GENTLE = 1e-5
"""A learning rate that leaves the numbers ordinary, whatever the trial's is; steps are not slower for it."""


@dataclass(frozen=True, kw_only=True)
class TimingJob:
    """The steps of one number of workers: every slice and sparsity, one after the other."""

    workload: Workload
    slices: Sequence[int]
    sparsities: Sequence[float] = (0.0,)
    steps: int = 20
    seed: int = 0
    engine: str = "auto"
    device: str = "cpu"
    threads: int | None = 1
    data_folder: Path | None = None
    scores_folder: Path | None = None
    packed: bool = True

    def __post_init__(self) -> None:
        _check_counts("slices", self.slices)
        _check_counts("steps", [self.steps])
        for sparsity in self.sparsities:
            check_sparsity(sparsity)

    def run(self, group: Group, say: Say) -> StepTimes:
        """Measure them all."""
        first = self._cell(group, self.slices[0], 0.0)
        first.agree()
        rows = []
        with arithmetic(threads=self.threads):
            for sparsity in self.sparsities:
                mask = self._cell(group, 1, sparsity, first).mask(1) if sparsity else None
                for slice_size in self.slices:
                    row = self._row(self._cell(group, slice_size, sparsity, first), mask, slice_size)
                    rows.append(row)
                    say(
                        f"{group.size} x {slice_size}, sparsity {sparsity:g}: {row.seconds * 1e3:.3g} ms a step, "
                        f"{row.exchange * 1e3:.3g} ms of it exchange"
                    )
        parts = {name: getattr(self.workload, name) for name in ("data", "network", "optimiser", "schedule")}
        return StepTimes(
            workload={name: part if isinstance(part, str) else "own" for name, part in parts.items()},
            engine=first.engine.inner.name,
            machine={},
            parameters=first.engine.parameters,
            rows=tuple(rows),
        )

    def _cell(self, group: Group, slice_size: int, sparsity: float, like: ParallelCell | None = None) -> ParallelCell:
        """With the data of the cell ``like``, which need not be loaded again."""
        cell = TrainingJob(
            workload=self.workload,
            batch_size=slice_size * group.size,
            sparsity=sparsity,
            seed=self.seed,
            engine=self.engine,
            device=self.device,
            data_folder=self.data_folder,
            scores_folder=self.scores_folder,
            packed=self.packed,
        ).cell(group)
        return cell if like is None else replace(cell, dataset=like.data)

    def _row(self, cell: ParallelCell, mask: Mask | None, slice_size: int) -> StepTime:
        group, meter = cell.group, cell.engine.meter
        batches = Batches(len(cell.split.train), cell.batch_size, derived_seed(self.seed, "order", 1))
        given = {**self.workload.space.trial(1), "learning_rate": GENTLE}
        rule = make_rule(self.workload.optimiser, self.workload.schedule, given)
        replica = cell.begin(1, mask).replica
        at_once = 1 if group.size > 1 else max(1, min(AT_ONCE, self.steps // 8))

        def take(start: int, count: int) -> None:
            chosen = [cell.split.train[batches.indices(start + index)] for index in range(count)]
            replica.advance(chosen, rule, start)

        for start in range(WARM_UP):
            take(start, 1)
        meter.clear()
        group.gathered(None)
        done = 0
        while done < self.steps:
            take(WARM_UP + done, count := min(at_once, self.steps - done))
            done += count
        costs = Costs.of(group.gathered(meter))
        return StepTime(
            slice_size=slice_size,
            workers=group.size,
            sparsity=cell.sparsity,
            compute=costs.compute,
            exchange=costs.exchange,
            low=costs.low,
            high=costs.high,
            bytes_sent=meter.bytes_per_step,
            steps=self.steps,
        )


def _check_counts(name: str, numbers: Sequence[int]) -> None:
    if not numbers or min(numbers) < 1:
        raise UsageError(f"{name} {', '.join(map(str, numbers)) or 'none'}: each must be at least 1")


def step_times(
    workload: str | Workload,
    *,
    slices: Sequence[int],
    workers: Sequence[int] = (1,),
    sparsities: Sequence[float] = (0.0,),
    steps: int = 20,
    seed: int = 0,
    engine: str = "auto",
    device: str = "cpu",
    threads: int = 1,
    data_folder: Path | None = None,
    packed: bool = True,
    machine: Mapping[str, Any] | None = None,
    timeout: float = TIMEOUT,
    say: Say = lambda text: None,
) -> StepTimes:
    """Measure every combination with processes of this machine; each number of workers has its own.

    ``machine`` is kept beside the rows, as what they were measured on.
    """
    _check_counts("workers", workers)
    with tempfile.TemporaryDirectory(prefix="parsity-scale-") as folder:
        job = TimingJob(
            workload=built_in(workload) if isinstance(workload, str) else workload,
            slices=tuple(slices),
            sparsities=tuple(sparsities),
            steps=steps,
            seed=seed,
            engine=engine,
            device=device,
            threads=threads,
            data_folder=data_folder,
            scores_folder=Path(folder),
            packed=packed,
        )
        found = [
            job.run(Group(), say) if number == 1 else launch(job, workers=number, timeout=timeout, say=say)
            for number in workers
        ]
    return replace(found[0], machine=dict(machine or {}), rows=tuple(row for one in found for row in one.rows))
