"""One network's training, step by step, to be stopped at and gone on from anywhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from parsity.data import Batches, Split
from parsity.engines import Engine, Snapshot
from parsity.optimisation import make_rule
from parsity.pruning import flatten
from parsity.racing import load_checkpoint, save_checkpoint
from parsity.smoothness.spec import SmoothnessSpec
from parsity.training import TrialState, derived_seed

logger = logging.getLogger(__name__)

IMAGES_AT_ONCE = 4_096
"""How many images are trained on before control comes back."""


class Descent:
    """Trial ``spec.trial`` at one sparsity: the same initial weights, mask and order of data as in a study."""

    def __init__(
        self,
        spec: SmoothnessSpec,
        sparsity: float,
        *,
        engine: Engine,
        network: nn.Module,
        mask: Tensor | None,
        split: Split,
        checkpoint: Path | None,
    ) -> None:
        self.sparsity, self.mask = sparsity, mask
        self._trial = spec.trial
        self._identity = f"smoothness {spec.identity} {engine.name} {engine.dataset.digest} {sparsity}"
        self._train = split.train
        self._rule = make_rule(spec.optimiser, spec.schedule, spec.metaparameters)
        self._batches = Batches(len(split.train), spec.batch_size, derived_seed(spec.seed, "order", spec.trial))
        self._at_once = max(1, IMAGES_AT_ONCE // spec.batch_size)
        self._checkpoint = checkpoint
        weights = flatten(network).detach().clone()
        slots = tuple(torch.zeros_like(weights) for _ in range(self._rule.optimiser.slots))
        self._start = Snapshot(weights, slots, tuple(buffer.clone() for buffer in network.buffers()))
        seed = derived_seed(spec.seed, "network", spec.trial)
        self._replica = engine.replica(self._start, mask=mask, seed=seed)
        self.looking = engine.replica(Snapshot(weights, (), self._start.buffers), mask=mask, seed=seed)
        """A second replica, to be taken to any weights while training stays where it is."""
        self.step = 0

    def resume(self, step: int) -> None:
        """Go to the newest checkpoint that lies at ``step`` or before it; else stay at the start."""
        if self._checkpoint is None:
            return
        saved = load_checkpoint(self._checkpoint, self._identity, {self._trial: self.mask})
        if saved and saved[0].step <= step:
            self.step = saved[0].step
            self._replica.restore(saved[0].snapshot)

    def advance_to(self, step: int, pause: Callable[[], None]) -> bool:
        """Train up to ``step``; False where training is not finite any more, and then ``step`` says since when."""
        while self.step < step:
            pause()
            count = min(step - self.step, self._at_once)
            before = self._replica.snapshot()
            if self._advance(count):
                continue
            self._replica.restore(before)
            while self._advance(1):
                pass
            return False
        return True

    def save(self) -> None:
        """Leave a checkpoint."""
        if self._checkpoint is not None:
            nothing = torch.zeros(0)
            state = TrialState(self._trial, self.step, self._replica.snapshot(), nothing, {}, 0)
            save_checkpoint(self._checkpoint, self._identity, [state], {self._trial: self.mask})

    def snapshot(self) -> Snapshot:
        """The weights as they are now."""
        return self._replica.snapshot()

    def _advance(self, count: int) -> bool:
        batches = [self._train[self._batches.indices(self.step + index)] for index in range(count)]
        losses = self._replica.advance(batches, self._rule, self.step)
        if not (torch.isfinite(losses).all() and self._replica.finite()):
            return False
        self.step += count
        return True
