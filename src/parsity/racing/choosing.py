"""The engine of a cell, chosen by measurement before its first step."""

from __future__ import annotations

from pathlib import Path

from parsity.engines import Calibrator
from parsity.optimisation import make_rule
from parsity.pruning import flatten
from parsity.racing.cell import Cell
from parsity.results import EngineChoice
from parsity.training import derived_seed


def calibrator_of(cell: Cell, *, memory: Path | None) -> Calibrator:
    """What chooses for this cell, and for all others of its workload, seed and data."""
    seed = derived_seed(cell.seed, "weights", 1)
    return Calibrator(lambda: cell.workload.make_network(seed), cell.data, device=cell.device, memory=memory)


def choose_engine(cell: Cell, calibrator: Calibrator, *, number: int) -> EngineChoice:
    """The engine for ``cell``, by steps of its trial ``number``; of a sparse cell that trial's mask is made for it."""
    workload = cell.workload
    network = workload.make_network(derived_seed(cell.seed, "weights", number))
    return calibrator.choose(
        batch_size=cell.batch_size,
        weights=flatten(network),
        mask=cell.mask(number).flat if cell.sparsity else None,
        rule=make_rule(workload.optimiser, workload.schedule, workload.space.trial(number)),
        sparsity=cell.sparsity,
    )
