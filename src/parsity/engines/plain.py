"""The plain engine: ``nn.Module`` and autograd, a whole batch at once. The slow twin of every other engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity.data import Dataset
from parsity.engines.contract import CPU, Engine, Replica, Snapshot
from parsity.optimisation import Rule


class PlainEngine(Engine):
    """Runs any module; nothing is traced, sliced or fused."""

    name: ClassVar[str] = "plain"

    def replica(self, snapshot: Snapshot, *, mask: Tensor | None = None, seed: int = 0) -> PlainReplica:
        """A replica at ``snapshot``."""
        return PlainReplica(self, snapshot, mask, seed)


class PlainReplica(Replica):
    """One trial's weights, written into the engine's network each time it is asked something."""

    def __init__(self, engine: PlainEngine, snapshot: Snapshot, mask: Tensor | None, seed: int) -> None:
        self._network: nn.Module = engine.network
        self._dataset: Dataset = engine.dataset
        self._device = engine.device
        self._mask = None if mask is None else mask.to(engine.device)
        self._seed = seed
        self.restore(snapshot)

    def advance(self, batches: Sequence[Tensor], rule: Rule, step: int) -> Tensor:
        """Take one step per batch."""
        losses = []
        self._load(training=True)
        with torch.random.fork_rng(devices=[]):
            for index, batch in enumerate(batches):
                # A step's dropout depends on the trial and the step, not on what ran before it.
                torch.manual_seed(self._seed + step + index)
                loss, gradient = self._gradient(batch)
                losses.append(loss)
                rule.optimiser.update_(self._weights, gradient, self._slots, rule.rate(step + index))
        return torch.stack(losses).cpu()

    def gradient(self, images: Tensor) -> tuple[float, Tensor]:
        """The mean loss over ``images`` and its gradient."""
        self._load(training=False)
        loss, gradient = self._gradient(images)
        return loss.item(), gradient.cpu()

    def update(self, gradient: Tensor, rule: Rule, step: int) -> None:
        """Take a step with a given gradient."""
        rule.optimiser.update_(self._weights, copied(gradient, self._device), self._slots, rule.rate(step))

    def margins(self, images: Tensor) -> Tensor:
        """By how much the label's logit exceeds the highest other one."""
        self._load(training=False)
        with torch.inference_mode():
            logits = self._network(self._dataset.normalise(self._dataset.images[images]))
            return label_margins(logits, self._dataset.labels[images]).cpu()

    def finite(self) -> bool:
        """Whether every weight is finite."""
        return bool(torch.isfinite(self._weights).all())

    def snapshot(self) -> Snapshot:
        """A copy of the state."""
        return Snapshot(
            copied(self._weights, CPU),
            tuple(copied(slot, CPU) for slot in self._slots),
            tuple(copied(buffer, CPU) for buffer in self._buffers),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to ``snapshot``."""
        self._weights = copied(snapshot.weights, self._device)
        self._slots = tuple(copied(slot, self._device) for slot in snapshot.slots)
        self._buffers = tuple(copied(buffer, self._device) for buffer in snapshot.buffers)
        if self._mask is not None:
            self._weights.mul_(self._mask)

    def _load(self, *, training: bool) -> None:
        """Make the shared network this replica's: its parameters and buffers become views of our vectors."""
        self._network.train(training)
        parameters = list(self._network.parameters())
        chunks = torch.split(self._weights, [parameter.numel() for parameter in parameters])
        for parameter, chunk in zip(parameters, chunks, strict=True):
            parameter.data = chunk.view(parameter.shape)
        for buffer, ours in zip(self._network.buffers(), self._buffers, strict=True):
            buffer.data = ours

    def _gradient(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        images = self._dataset.normalise(self._dataset.images[batch])
        loss = F.cross_entropy(self._network(images), self._dataset.labels[batch])
        gradients = torch.autograd.grad(loss, list(self._network.parameters()))
        gradient = torch.cat([g.flatten() for g in gradients])
        if self._mask is not None:
            gradient.mul_(self._mask)
        return loss.detach(), gradient


def copied(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy of its own on ``device``."""
    return tensor.to(device, copy=True)


def label_margins(logits: Tensor, labels: Tensor) -> Tensor:
    """The label's logit less the highest of the others; not-a-number where a logit is."""
    own = logits.gather(1, labels[:, None])
    others = logits.scatter(1, labels[:, None], float("-inf"))
    return (own - others.amax(1, keepdim=True)).squeeze(1)
