"""`race`: the steps-to-result of one cell, in one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from parsity.engines import arithmetic
from parsity.racing.cell import Cell
from parsity.racing.checkpoint import remove_checkpoint
from parsity.racing.scores import Scores
from parsity.racing.shard import Shard
from parsity.results import CellResult
from parsity.training import Workload
from parsity.training import workload as built_in


def race(
    workload: str | Workload,
    batch_size: int,
    sparsity: float = 0.0,
    *,
    trials: int = 100,
    patience: float = 1.0,
    seed: int = 0,
    engine: str = "auto",
    device: str = "cpu",
    test: str = "certified",
    log: bool = False,
    data_folder: Path | None = None,
    scores_folder: Path | None = None,
    checkpoint: Path | None = None,
    pause: Callable[[], None] = lambda: None,
) -> CellResult:
    """Measure K*: run trials 1 .. ``trials`` of one cell until no further step can change the answer.

    ``patience`` lets the others go on to that multiple of K*; infinite is the paper's protocol to the letter. With a
    ``checkpoint`` path, a race that is interrupted goes on from there when it is called again. torch's number of
    threads is that of the calling process.

    Engine "auto" is the first of native, traced and plain that can run the network, and nothing is measured: nobody
    would remember the choice for the next call. Where engines are chosen by measurement, a `Study` keeps the choice.
    """
    cell = Cell(
        workload=built_in(workload) if isinstance(workload, str) else workload,
        batch_size=batch_size,
        sparsity=sparsity,
        patience=patience,
        seed=seed,
        engine_name=engine,
        device=device,
        test=test,
        log=log,
        data_folder=data_folder,
        scores=Scores(scores_folder),
    )
    started = time.perf_counter()
    with arithmetic():
        results = Shard(cell=cell, numbers=range(1, trials + 1), checkpoint=checkpoint, pause=pause).run()
    if checkpoint is not None:
        remove_checkpoint(checkpoint)
    return cell.result(results, seconds=time.perf_counter() - started)
