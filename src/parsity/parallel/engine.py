"""Synchronous data parallelism behind the engines' contract.

Every rank holds a replica at the same weights. Of a batch of B images, rank r computes the mean gradient g_r of its own
n_r, and the ranks sum (n_r / B) g_r: the mean over the batch, whoever took how many. Of a pruned network only the
surviving entries are sent, packed, with the loss behind them; so one sum serves a step. Margins are shared out likewise
and come back whole, so that whatever decides on them - a goal test, a race - decides the same on every rank.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from parsity.engines import Engine, Replica, Snapshot, UnsupportedNetworkError, refuse_impure
from parsity.errors import UsageError
from parsity.optimisation import Rule
from parsity.parallel.group import Group
from parsity.parallel.meter import Meter
from parsity.parallel.slices import slice_of


class ParallelEngine(Engine):
    """``inner`` on every rank of ``group``; ``packed`` is for measuring what packing saves."""

    name: ClassVar[str] = "parallel"

    def __init__(self, inner: Engine, group: Group, *, packed: bool = True) -> None:
        super().__init__(inner.network, inner.dataset, inner.device)
        self.inner = inner
        self.group = group
        self.packed = packed
        self.meter = Meter()
        self.parameters = sum(parameter.numel() for parameter in inner.network.parameters())
        if group.size > 1:
            try:
                refuse_impure(inner.network)
            except UnsupportedNetworkError as error:
                # Its gradient over a slice is not that of the slice's images within the batch.
                raise UsageError(f"{group.size} workers: {error}; such a network trains with 1") from error

    def replica(self, snapshot: Snapshot, *, mask: Tensor | None = None, seed: int = 0) -> ParallelReplica:
        """A replica at ``snapshot``, which must be the same on every rank."""
        return ParallelReplica(self, self.inner.replica(snapshot, mask=mask, seed=seed), mask, len(snapshot.weights))


class ParallelReplica(Replica):
    """One trial's weights, the same on every rank."""

    def __init__(self, engine: ParallelEngine, inner: Replica, mask: Tensor | None, parameters: int) -> None:
        self._group, self._meter = engine.group, engine.meter
        self._inner = inner
        self._parameters = parameters
        self._kept = torch.nonzero(mask.cpu()).flatten() if mask is not None and engine.packed else None
        count = parameters if self._kept is None else len(self._kept)
        self._parcel = torch.zeros(count + 1)  # the gradient's entries, and the loss

    def advance(self, batches: Sequence[Tensor], rule: Rule, step: int) -> Tensor:
        """Take one step per batch; a rank alone leaves them to its engine, all in one call."""
        if self._group.size == 1:
            started = time.perf_counter()
            found = self._inner.advance(batches, rule, step)
            each = (time.perf_counter() - started) / max(1, len(batches))
            for _ in batches:
                self._meter.note(compute=each, exchange=0.0, sent=0)
            return found
        losses = torch.empty(len(batches))
        for index, batch in enumerate(batches):
            started = time.perf_counter()
            loss, gradient = self._own(batch)
            computed = time.perf_counter()
            losses[index], whole = self._summed(loss, gradient)
            exchanged = time.perf_counter()
            self._inner.update(whole, rule, step + index)
            compute = computed - started + time.perf_counter() - exchanged
            self._meter.note(compute=compute, exchange=exchanged - computed, sent=self._parcel.nbytes)
        return losses

    def gradient(self, images: Tensor) -> tuple[float, Tensor]:
        """The mean loss over ``images`` and its gradient, each rank having done its part."""
        if self._group.size == 1:
            return self._inner.gradient(images)
        return self._summed(*self._own(images))

    def update(self, gradient: Tensor, rule: Rule, step: int) -> None:
        """Take a step with a gradient that every rank has."""
        self._inner.update(gradient, rule, step)

    def deviations(self, images: Tensor, centre: Tensor) -> Tensor:
        """|gradient of one image - ``centre``|^2 for each image, each rank having done its part."""
        found = torch.zeros(len(images), dtype=torch.float64)
        part = slice_of(len(images), self._group.rank, self._group.size)
        if part.start < part.stop:
            found[part] = self._inner.deviations(images[part], centre)
        self._group.sum_(found)
        return found

    def margins(self, images: Tensor) -> Tensor:
        """By how much the label's logit exceeds the highest other one, each rank having looked at its part."""
        if self._group.size == 1:
            return self._inner.margins(images)
        found = torch.zeros(len(images))
        part = slice_of(len(images), self._group.rank, self._group.size)
        if part.start < part.stop:
            found[part] = self._inner.margins(images[part])
        # All others hold zeros there, so the sum is the number itself.
        self._group.sum_(found)
        self._meter.test_bytes += found.nbytes
        return found

    def finite(self) -> bool:
        """Whether every weight is finite, on every rank."""
        broken = torch.tensor([0.0 if self._inner.finite() else 1.0])
        self._group.sum_(broken)
        return not broken.item()

    def snapshot(self) -> Snapshot:
        """A copy of the state."""
        return self._inner.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that `snapshot` gave."""
        self._inner.restore(snapshot)

    def _own(self, images: Tensor) -> tuple[float, Tensor]:
        """This rank's summand: (n_r / B) x (loss and gradient over its part)."""
        part = slice_of(len(images), self._group.rank, self._group.size)
        if part.start == part.stop:  # a mean over no images is not a number
            return 0.0, torch.zeros(self._parameters)
        loss, gradient = self._inner.gradient(images[part])
        share = (part.stop - part.start) / len(images)
        return loss * share, gradient.mul_(share)

    def _summed(self, loss: float, gradient: Tensor) -> tuple[float, Tensor]:
        parcel, kept = self._parcel, self._kept
        if kept is None:
            parcel[:-1] = gradient
        else:
            torch.index_select(gradient, 0, kept, out=parcel[:-1])
        parcel[-1] = loss
        self._group.sum_(parcel)
        if kept is None:
            return float(parcel[-1]), parcel[:-1].clone()
        return float(parcel[-1]), torch.zeros(self._parameters).index_copy_(0, kept, parcel[:-1])
