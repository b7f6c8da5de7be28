"""The native engine: the contract, over the compiled passes."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from parsity.data import Dataset
from parsity.engines.contract import Engine, Replica, Snapshot, UnsupportedNetworkError
from parsity.engines.native.library import FINE, Layer, Shape, Source, Update, load, pointer
from parsity.engines.native.program import Program
from parsity.engines.native.tracing import trace
from parsity.optimisation import Momentum, Nesterov, Optimiser, Rule, Sgd

# Numbers an image's activations may take in a slice before they leave the second cache.
SLICE_FLOATS = 1_400_000


class NativeEngine(Engine):
    """Runs convolutional networks in C; one pass at a time, whichever replica asks."""

    name: ClassVar[str] = "native"

    def __init__(
        self, network: nn.Module, dataset: Dataset, *, instruction_set: str | None = None, slice_size: int | None = None
    ) -> None:
        super().__init__(network, dataset)
        _, channels, height, width = dataset.images.shape
        self.program = trace(network, (channels, height, width))
        if int(dataset.labels.max()) >= self.program.shapes[-1][0]:
            raise UnsupportedNetworkError(
                f"there are {self.program.shapes[-1][0]} logits, but a label {int(dataset.labels.max())}"
            )
        self.slice_size = slice_size or _slice_size(self.program)
        self.library = load(instruction_set)
        self.lock = threading.Lock()
        self.source, self._keep = _source(dataset)
        self.handle = self._network()
        self.scratch = torch.empty(self.program.parameter_count)
        self._dense: Plan | None = None

    def replica(self, snapshot: Snapshot, *, mask: Tensor | None = None, seed: int = 0) -> NativeReplica:
        """A replica at ``snapshot``."""
        return NativeReplica(self, snapshot, mask)

    def plan(self, mask: Tensor | None) -> Plan:
        """How a replica with this mask is run; all dense ones share one plan."""
        if mask is not None:
            return Plan(self, mask)
        if self._dense is None:
            self._dense = Plan(self, None)
        return self._dense

    def _network(self) -> ctypes.c_void_p:
        program = self.program
        layers = (Layer * len(program.steps))(
            *[
                Layer(
                    *(step.kind, step.input, step.other, step.output),
                    *(*step.kernel, *step.stride),
                    *(step.top, step.left, step.front, step.rectified, step.pooled),
                    *(*step.full, 0, step.weights, step.bias),
                )
                for step in program.steps
            ]
        )
        shapes = (Shape * len(program.shapes))(*[Shape(*shape) for shape in program.shapes])
        handle = self.library.network_new(
            layers, len(layers), shapes, len(shapes), program.parameter_count, self.slice_size
        )
        if not handle:
            raise MemoryError(f"no memory for a slice of {self.slice_size} images")
        weakref.finalize(self, self.library.network_free, handle)
        return ctypes.c_void_p(handle)


class Plan:
    """What a mask makes of the network: the compiled lists of survivors, and what a replica's vectors hold."""

    def __init__(self, engine: NativeEngine, mask: Tensor | None) -> None:
        if mask is not None and mask.shape != (engine.program.parameter_count,):
            raise ValueError(f"the mask has shape {tuple(mask.shape)}, not ({engine.program.parameter_count},)")
        given = None if mask is None else mask.to(torch.uint8).contiguous()
        address = engine.library.plan_new(engine.handle, pointer(given, torch.uint8))
        if not address:
            raise MemoryError("no memory for a replica's lists")
        weakref.finalize(self, engine.library.plan_free, address)
        self.handle = ctypes.c_void_p(address)
        self.index = torch.empty(engine.library.plan_count(self.handle), dtype=torch.int64)
        """Which of the network's parameters each number of a replica's vectors is."""
        engine.library.plan_index(self.handle, pointer(self.index, torch.int64))
        self.kept = None if mask is None else mask[self.index].to(torch.uint8)


class NativeReplica(Replica):
    """One trial's weights and what its optimiser remembers: of sparse layers, of the survivors only."""

    def __init__(self, engine: NativeEngine, snapshot: Snapshot, mask: Tensor | None) -> None:
        self._engine = engine
        self._plan = engine.plan(mask)
        self._index, self._kept = self._plan.index, self._plan.kept
        self._weights: Tensor
        self._slots: tuple[Tensor, ...]
        self.restore(snapshot)

    def advance(self, batches: Sequence[Tensor], rule: Rule, step: int) -> Tensor:
        """Take one step per batch, all of them in one call."""
        losses = torch.empty(len(batches))
        update = _update(rule.optimiser)
        if update is None:
            return self._advance_by_hand(batches, rule, step, losses)
        engine, float32, int64 = self._engine, torch.float32, torch.int64
        rates = torch.tensor([rule.rate(step + index) for index in range(len(batches))], dtype=float32)
        counts = torch.tensor([len(batch) for batch in batches], dtype=int64)
        images = torch.cat(list(batches)).to(int64)
        velocity = self._slots[0] if self._slots else None
        with engine.lock:
            status = engine.library.network_advance(
                *(engine.handle, self._plan.handle, engine.source),
                *(pointer(self._weights, float32), pointer(velocity, float32), pointer(self._kept, torch.uint8)),
                *(update, pointer(rates, float32), pointer(images, int64), pointer(counts, int64), len(batches)),
                *(pointer(engine.scratch, float32), pointer(losses, float32)),
            )
        _check(status, engine.dataset)
        return losses

    def _advance_by_hand(self, batches: Sequence[Tensor], rule: Rule, step: int, losses: Tensor) -> Tensor:
        """An optimiser of one's own is asked between native gradients."""
        for index, batch in enumerate(batches):
            losses[index], gradient = self.gradient(batch)
            self.update(gradient, rule, step + index)
        return losses

    def update(self, gradient: Tensor, rule: Rule, step: int) -> None:
        """Take a step with a given gradient: on what is kept here, or whole vectors for an optimiser of one's own."""
        if _update(rule.optimiser) is not None:
            rule.optimiser.update_(self._weights, gradient[self._index], self._slots, rule.rate(step))
            return
        weights, slots = self._whole(self._weights), tuple(map(self._whole, self._slots))
        rule.optimiser.update_(weights, gradient.clone(), slots, rule.rate(step))
        self._weights, self._slots = weights[self._index], tuple(slot[self._index] for slot in slots)

    def gradient(self, images: Tensor) -> tuple[float, Tensor]:
        """The mean loss over ``images`` and its gradient."""
        engine, gradient, loss = self._engine, torch.empty_like(self._weights), ctypes.c_double()
        images = images.to(torch.int64).contiguous()
        with engine.lock:
            status = engine.library.network_gradient(
                *(engine.handle, self._plan.handle, engine.source, pointer(self._weights, torch.float32)),
                *(pointer(images, torch.int64), len(images), pointer(gradient, torch.float32), ctypes.byref(loss)),
            )
        _check(status, engine.dataset)
        if self._kept is not None:
            gradient.masked_fill_(self._kept == 0, 0)
        return loss.value, self._whole(gradient)

    def deviations(self, images: Tensor, centre: Tensor) -> Tensor:
        """|gradient of one image - ``centre``|^2 for each image, surviving entries only."""
        engine, deviations = self._engine, torch.empty(len(images), dtype=torch.float64)
        images, centre = images.to(torch.int64).contiguous(), centre.to(torch.float32)[self._index]
        with engine.lock:
            status = engine.library.network_deviations(
                *(engine.handle, self._plan.handle, engine.source, pointer(self._weights, torch.float32)),
                *(pointer(self._kept, torch.uint8), pointer(centre, torch.float32), pointer(images, torch.int64)),
                *(len(images), pointer(engine.scratch, torch.float32), pointer(deviations, torch.float64)),
            )
        _check(status, engine.dataset)
        return deviations

    def margins(self, images: Tensor) -> Tensor:
        """By how much the label's logit exceeds the highest other one."""
        engine, margins = self._engine, torch.empty(len(images))
        images = images.to(torch.int64).contiguous()
        with engine.lock:
            status = engine.library.network_margins(
                *(engine.handle, self._plan.handle, engine.source, pointer(self._weights, torch.float32)),
                *(pointer(images, torch.int64), len(images), pointer(margins, torch.float32)),
            )
        _check(status, engine.dataset)
        return margins

    def finite(self) -> bool:
        """Whether every weight is finite."""
        return bool(torch.isfinite(self._weights).all())

    def snapshot(self) -> Snapshot:
        """A copy of the state."""
        return Snapshot(self._whole(self._weights), tuple(map(self._whole, self._slots)), ())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to ``snapshot``."""
        self._weights = snapshot.weights[self._index]
        self._slots = tuple(slot[self._index] for slot in snapshot.slots)
        if self._kept is not None:
            self._weights.masked_fill_(self._kept == 0, 0)

    def _whole(self, vector: Tensor) -> Tensor:
        """A vector in the contract's order, with zeros for what is pruned."""
        whole = torch.zeros(self._engine.program.parameter_count)
        whole[self._index] = vector
        return whole


def _slice_size(program: Program) -> int:
    floats = sum(channels * height * width for channels, height, width in program.shapes)
    size = 16
    while size > 4 and size * floats > SLICE_FLOATS:
        size //= 2
    return size


def _update(optimiser: Optimiser) -> Update | None:
    """The compiled twin, of these very types: a subclass may do anything."""
    if type(optimiser) is Sgd:
        return Update(0, 0.0, optimiser.weight_decay)
    if type(optimiser) is Momentum:
        return Update(1, optimiser.momentum, optimiser.weight_decay)
    if type(optimiser) is Nesterov:
        return Update(2, optimiser.momentum, optimiser.weight_decay)
    return None


def _source(dataset: Dataset) -> tuple[Source, tuple[Tensor, ...]]:
    """Where the pixels lie, and the tensors that must live as long as the answer is used."""
    images = dataset.images.contiguous()
    if images.dtype != torch.uint8:
        images = images.to(torch.float32)
    labels = dataset.labels.contiguous()
    mean, std = torch.tensor(dataset.mean, dtype=torch.float32), torch.tensor(dataset.std, dtype=torch.float32)
    identity = dataset.scale == 1 and set(dataset.mean) == {0.0} and set(dataset.std) == {1.0}
    source = Source(
        *(images.data_ptr(), labels.data_ptr(), len(images)),
        *(images.dtype != torch.uint8, identity, dataset.scale, mean.data_ptr(), std.data_ptr()),
    )
    return source, (images, labels, mean, std)


def _check(status: int, dataset: Dataset) -> None:
    if status != FINE:
        raise IndexError(f"data set {dataset.name}: an image is named that is not one of its {len(dataset.images)}")
