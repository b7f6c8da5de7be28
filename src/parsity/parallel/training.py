"""`train`: a cell's trials, each trained by several workers together."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parsity.engines import arithmetic
from parsity.errors import UsageError
from parsity.parallel.cell import ParallelCell
from parsity.parallel.group import Group, device_of
from parsity.parallel.job import Say
from parsity.parallel.launching import insisting, launch
from parsity.parallel.losing import TIMEOUT
from parsity.parallel.meter import Costs
from parsity.parallel.result import ParallelResult
from parsity.parallel.shard import ParallelShard
from parsity.racing import Runner, Scores
from parsity.training import CertifiedTest, Workload
from parsity.training import workload as built_in

SAY_EVERY = 15.0
"""Seconds between remarks on how far the trials are."""


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """Trials ``numbers`` of one cell, raced in lockstep by all ranks together."""

    workload: Workload
    batch_size: int
    sparsity: float = 0.0
    numbers: Sequence[int] = (1,)
    patience: float = 1.0
    seed: int = 0
    engine: str = "auto"
    device: str = "cpu"
    threads: int | None = 1
    test: str = CertifiedTest.name
    data_folder: Path | None = None
    scores_folder: Path | None = None
    checkpoint: Path | None = None
    packed: bool = True

    def __post_init__(self) -> None:
        if not self.numbers or min(self.numbers) < 1:
            raise UsageError(f"trials {', '.join(map(str, self.numbers)) or 'none'}: trials are counted from 1")

    def cell(self, group: Group) -> ParallelCell:
        """The cell as rank ``group.rank`` has it."""
        return ParallelCell(
            workload=self.workload,
            batch_size=self.batch_size,
            sparsity=self.sparsity,
            patience=self.patience,
            seed=self.seed,
            engine_name=self.engine,
            device=device_of(self.device, group.rank),
            test=self.test,
            data_folder=self.data_folder,
            scores=Scores(self.scores_folder),
            group=group,
            packed=self.packed,
        )

    def run(self, group: Group, say: Say) -> ParallelResult:
        """Race them. Every rank decides by the same numbers, so none needs to be told what the others do."""
        started = time.perf_counter()
        cell = self.cell(group)
        cell.agree()
        shard = ParallelShard(
            cell=cell,
            numbers=self.numbers,
            checkpoint=self.checkpoint,
            watch=_spoken(say),
        )
        with arithmetic(threads=self.threads):
            results = shard.run()
        meter = cell.engine.meter
        costs = Costs.of(group.gathered(meter))
        result = cell.result(results, seconds=time.perf_counter() - started)
        kept = cell.engine.parameters
        if self.sparsity:
            kept = next(iter(shard.masks.values())).kept
        return ParallelResult(
            cell=replace(result, engine=cell.engine.inner.name),
            workers=group.size,
            backend=group.backend,
            packed=self.packed,
            parameters=cell.engine.parameters,
            kept=kept,
            steps=meter.steps,
            compute=costs.compute,
            exchange=costs.exchange,
            bytes_per_step=meter.bytes_per_step,
            gradient_bytes=meter.gradient_bytes,
            test_bytes=meter.test_bytes,
        )


def _spoken(say: Say) -> Callable[[Runner | None], None]:
    """Says now and then how far the trials are."""
    last = time.monotonic()

    def watch(runner: Runner | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SAY_EVERY:
            return
        last = now
        if runner is None:
            say("trials are being prepared")
        else:
            pending = [trial.step for trial in runner.trials if trial.pending]
            say(f"{len(pending)} of {len(runner.trials)} trials under way, at step {min(pending, default=0):,}")

    return watch


def train(
    workload: str | Workload,
    batch_size: int,
    sparsity: float = 0.0,
    *,
    workers: int = 1,
    trials: Sequence[int] = (1,),
    patience: float = 1.0,
    seed: int = 0,
    engine: str = "auto",
    device: str = "cpu",
    threads: int = 1,
    test: str = CertifiedTest.name,
    data_folder: Path | None = None,
    scores_folder: Path | None = None,
    packed: bool = True,
    retries: int = 3,
    timeout: float = TIMEOUT,
    say: Say = lambda text: None,
) -> ParallelResult:
    """Train ``trials`` of one cell with ``workers`` processes of this machine that share every batch.

    Outcomes are those of one process with the whole batch, up to the rounding of sums. Several trials are raced as
    `parsity.race` does it. A lost rank ends an attempt on all ranks; it is tried again up to ``retries`` times, from
    the last checkpoint, before `LostRankError` is raised.
    """
    if workers < 1:
        raise UsageError(f"workers {workers}: it must be at least 1")
    with tempfile.TemporaryDirectory(prefix="parsity-train-") as folder:
        job = TrainingJob(
            workload=built_in(workload) if isinstance(workload, str) else workload,
            batch_size=batch_size,
            sparsity=sparsity,
            numbers=tuple(trials),
            patience=patience,
            seed=seed,
            engine=engine,
            device=device,
            threads=threads,
            test=test,
            data_folder=data_folder,
            scores_folder=scores_folder or Path(folder),
            checkpoint=Path(folder) / "checkpoint" if workers > 1 else None,
            packed=packed,
        )
        if workers == 1:
            return job.run(Group(), say)
        result, attempts = insisting(
            lambda: launch(job, workers=workers, timeout=timeout, say=say), retries=retries, say=say
        )
    return replace(result, attempts=attempts)
