"""A cell: one (batch size, sparsity) of a workload, and what its trials begin from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from torch import Tensor

from parsity.data import Dataset, Split, split
from parsity.engines import Engine, make_engine
from parsity.errors import UsageError
from parsity.pruning import Mask, check_sparsity, cut_off_layers, flatten
from parsity.racing.scores import Scores
from parsity.results import CellResult, TrialResult, settled
from parsity.training import CertifiedTest, Conditions, Trial, Workload, derived_seed


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Everything a race of one (batch size, sparsity) needs; trials of it can be run anywhere, in any order."""

    workload: Workload
    batch_size: int
    sparsity: float
    patience: float = 1.0
    seed: int = 0
    engine_name: str = "auto"
    device: str = "cpu"
    test: str = CertifiedTest.name
    log: bool = False
    data_folder: Path | None = None
    scores: Scores = field(default_factory=Scores)
    dataset: Dataset | None = None

    def __post_init__(self) -> None:
        check_sparsity(self.sparsity)
        if self.batch_size < 1:
            raise UsageError(f"batch size {self.batch_size}: it must be at least 1")
        if not self.patience >= 1:
            raise UsageError(f"patience {self.patience}: it must be at least 1; inf is the paper's protocol")

    @cached_property
    def data(self) -> Dataset:
        """The workload's data set, loaded once."""
        return self.dataset if self.dataset is not None else self.workload.load_data(self.data_folder)

    @cached_property
    def split(self) -> Split:
        """What is trained on, and what the goal is asked about."""
        return split(len(self.data.images))

    @cached_property
    def engine(self) -> Engine:
        """The engine that all trials of this cell share."""
        network = self.workload.make_network(derived_seed(self.seed, "weights", 1))
        return make_engine(self.engine_name, network, self.data, device=self.device)

    @property
    def conditions(self) -> Conditions:
        """What the trials share."""
        return Conditions(
            workload=self.workload,
            batch_size=self.batch_size,
            engine=self.engine,
            split=self.split,
            seed=self.seed,
            test=self.test,
            log=self.log,
        )

    def mask(self, number: int) -> Mask:
        """The mask of trial ``number``: the same for every batch size."""
        network = self.workload.make_network(derived_seed(self.seed, "weights", number))
        seed = derived_seed(self.seed, "pruning", number)
        return self.scores.mask(self.workload, network, self.data, sparsity=self.sparsity, seed=seed)

    def cut_off(self, number: int) -> tuple[str, ...]:
        """The layers that the mask of trial ``number`` leaves no path through; none where that cannot be told."""
        network = self.workload.make_network(derived_seed(self.seed, "weights", number))
        try:
            return cut_off_layers(network, self.mask(number), self.data.normalise(self.data.images[:1])[0])
        except RuntimeError:  # a network that runs in float32 alone, say: nothing to warn of, and it may train well
            return ()

    def begin(self, number: int, mask: Mask | None = None) -> Trial:
        """Trial ``number`` before its first step; its mask need not be made again where it is known."""
        if mask is None and self.sparsity:
            mask = self.mask(number)
        network = self.workload.make_network(derived_seed(self.seed, "weights", number))
        return Trial.begin(
            self.conditions,
            number,
            weights=flatten(network),
            buffers=[buffer.clone() for buffer in network.buffers()],
            mask=mask.flat if mask is not None else None,
        )

    @cached_property
    def identity(self) -> str:
        """A digest of all that decides a trial's numbers here, the same in every process."""
        w = self.workload
        network = w.make_network(derived_seed(self.seed, "weights", 1))
        facts = {
            # A callable has no name to rely on, nor the same address twice; what it makes tells it from others.
            "network": [w.network if isinstance(w.network, str) else "", str(network), _digest(flatten(network))],
            "workload": [w.name, w.optimiser, w.schedule, w.criterion, w.eligible, w.space.to_spec()],
            "protocol": [w.goals, w.check_interval, w.step_limit, self.test, self.log],
            "cell": [self.batch_size, self.sparsity, self.seed, self.engine.name, self.engine.device.type],
            "data": self.data.digest,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def result(self, trials: Iterable[TrialResult], *, seconds: float) -> CellResult:
        """The cell's result, from its trials' results gathered from wherever they ran."""
        return CellResult(
            workload=self.workload.name,
            batch_size=self.batch_size,
            sparsity=self.sparsity,
            goals=self.workload.goals,
            patience=self.patience,
            trials=settled(trials, self.workload.goals, self.patience),
            engine=self.engine.name,
            test=self.test,
            seconds=seconds,
        )


def _digest(weights: Tensor) -> str:
    return hashlib.sha256(weights.detach().numpy().tobytes()).hexdigest()
