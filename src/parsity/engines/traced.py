"""The traced engine: the step of any pure network as one straight line of ATen calls.

Autograd's bookkeeping is most of a small batch's step. Here the gradient of the loss is traced once for each slice
size (`make_fx` over `torch.func.grad_and_value`), and afterwards only the arithmetic runs, channels last, in slices
that stay in the cache, into one flat gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from parsity.data import Dataset
from parsity.engines.contract import CPU, Engine, Replica, Snapshot, UnsupportedNetworkError
from parsity.engines.plain import label_margins
from parsity.optimisation import Rule

SLICE = 128  # images; of 32, 64, 128 and 256 the fastest for both of the paper's networks
FORWARD_SLICE = 256


class TracedEngine(Engine):
    """Runs any network whose loss is a pure function of weights and images: no buffers, nothing random."""

    name: ClassVar[str] = "traced"

    def __init__(self, network: nn.Module, dataset: Dataset, device: torch.device = CPU) -> None:
        super().__init__(network, dataset, device)
        refuse_impure(network)
        self._names = [name for name, _ in network.named_parameters()]
        self.shapes = [parameter.shape for parameter in network.parameters()]
        self.order = torch.cat(_channels_last_order(self.shapes)).to(device)
        self._gradients: dict[int, Callable[..., tuple[tuple[Tensor, ...], Tensor]]] = {}
        network.eval()

    def replica(self, snapshot: Snapshot, *, mask: Tensor | None = None, seed: int = 0) -> TracedReplica:
        """A replica at ``snapshot``."""
        return TracedReplica(self, snapshot, mask)

    def examples(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The normalised images, channels last, and their labels."""
        pixels = self.dataset.normalise(self.dataset.images[images])
        # `contiguous` would leave single-channel images as they are, and their convolutions would run channels first.
        return pixels.to(memory_format=torch.channels_last, copy=True), self.dataset.labels[images]

    def views(self, vector: Tensor) -> list[Tensor]:
        """The parameters within a vector that is in this engine's own order."""
        chunks = torch.split(vector, [shape.numel() for shape in self.shapes])
        return [_view(chunk, shape) for chunk, shape in zip(chunks, self.shapes, strict=True)]

    def loss_gradient(self, weights: Sequence[Tensor], images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss and its gradient, in this engine's own order."""
        traced = self._gradients.get(len(labels))
        if traced is None:
            traced = self._gradients[len(labels)] = self._trace(weights, images, labels)
        gradients, loss = traced(*weights, images, labels)
        return loss, torch.cat([_flat(gradient) for gradient in gradients])

    def logits(self, weights: Sequence[Tensor], images: Tensor) -> Tensor:
        """The network's output."""
        logits: Tensor = functional_call(self.network, dict(zip(self._names, weights, strict=True)), (images,))
        return logits

    def _trace(
        self, weights: Sequence[Tensor], images: Tensor, labels: Tensor
    ) -> Callable[..., tuple[tuple[Tensor, ...], Tensor]]:
        def loss(*arguments: Tensor) -> Tensor:
            *parameters, pixels, targets = arguments
            return F.cross_entropy(self.logits(parameters, pixels), targets)

        gradient = grad_and_value(loss, argnums=tuple(range(len(weights))))
        try:
            traced = make_fx(gradient)(*weights, images, labels)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise UnsupportedNetworkError(f"the network cannot be traced: {reason}") from error
        traced.graph.eliminate_dead_code()
        traced.recompile()
        forward: Callable[..., tuple[tuple[Tensor, ...], Tensor]] = traced.forward
        return forward


class TracedReplica(Replica):
    """One trial's weights, kept channels last."""

    def __init__(self, engine: TracedEngine, snapshot: Snapshot, mask: Tensor | None) -> None:
        self._engine = engine
        # A multiplier and not a boolean: the product of two floats is one call without a conversion.
        self._mask = None if mask is None else mask.to(engine.device)[engine.order].float()
        self.restore(snapshot)

    def advance(self, batches: Sequence[Tensor], rule: Rule, step: int) -> Tensor:
        """Take one step per batch."""
        losses = []
        with torch.no_grad():
            for index, batch in enumerate(batches):
                loss, gradient = self._gradient(batch)
                losses.append(loss)
                rule.optimiser.update_(self._weights, gradient, self._slots, rule.rate(step + index))
        return torch.stack(losses).cpu()

    def gradient(self, images: Tensor) -> tuple[float, Tensor]:
        """The mean loss over ``images`` and its gradient."""
        with torch.no_grad():
            loss, gradient = self._gradient(images)
        return loss.item(), torch.empty_like(gradient).index_copy_(0, self._engine.order, gradient).cpu()

    def update(self, gradient: Tensor, rule: Rule, step: int) -> None:
        """Take a step with a given gradient."""
        ours = gradient.to(self._engine.device)[self._engine.order]
        with torch.no_grad():
            rule.optimiser.update_(self._weights, ours, self._slots, rule.rate(step))

    def margins(self, images: Tensor) -> Tensor:
        """By how much the label's logit exceeds the highest other one."""
        margins = []
        with torch.inference_mode():
            for part in images.split(FORWARD_SLICE):  # type: ignore[no-untyped-call]
                pixels, labels = self._engine.examples(part)
                margins.append(label_margins(self._engine.logits(self._views, pixels), labels))
            return torch.cat(margins).cpu()

    def finite(self) -> bool:
        """Whether every weight is finite."""
        return bool(torch.isfinite(self._weights).all())

    def snapshot(self) -> Snapshot:
        """A copy of the state."""
        order = self._engine.order
        back = (torch.empty_like(vector).index_copy_(0, order, vector) for vector in (self._weights, *self._slots))
        return Snapshot(next(back).cpu(), tuple(slot.cpu() for slot in back), ())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to ``snapshot``."""
        order, device = self._engine.order, self._engine.device
        self._weights = snapshot.weights.to(device)[order]
        self._slots = tuple(slot.to(device)[order] for slot in snapshot.slots)
        if self._mask is not None:
            self._weights.mul_(self._mask)
        self._views = self._engine.views(self._weights)

    def _gradient(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        if len(batch) <= SLICE:
            loss, gradient = self._engine.loss_gradient(self._views, *self._engine.examples(batch))
        else:
            loss, gradient = self._weights.new_zeros(()), torch.zeros_like(self._weights)
            for part in batch.split(SLICE):  # type: ignore[no-untyped-call]
                part_loss, part_gradient = self._engine.loss_gradient(self._views, *self._engine.examples(part))
                loss.add_(part_loss, alpha=len(part) / len(batch))
                gradient.add_(part_gradient, alpha=len(part) / len(batch))
        if self._mask is not None:
            gradient.mul_(self._mask)
        return loss, gradient


def refuse_impure(network: nn.Module) -> None:
    """Raise `UnsupportedNetworkError` where the loss is more than a mean over images of a function of the weights."""
    for name, module in network.named_modules():
        if next(module.buffers(recurse=False), None) is not None:
            raise UnsupportedNetworkError(f"{name or 'the network'} has buffers")
        if isinstance(module, nn.modules.dropout._DropoutNd):
            raise UnsupportedNetworkError(f"{name} draws random numbers")


def _channels_last_order(shapes: Sequence[torch.Size]) -> list[Tensor]:
    """Where each entry of this engine's order stands in the contract's order."""
    orders, start = [], 0
    for shape in shapes:
        index = torch.arange(start, start + shape.numel()).view(shape)
        orders.append(_flat(index))
        start += shape.numel()
    return orders


def _flat(tensor: Tensor) -> Tensor:
    return tensor.permute(0, 2, 3, 1).reshape(-1) if tensor.dim() == 4 else tensor.reshape(-1)


def _view(chunk: Tensor, shape: torch.Size) -> Tensor:
    if len(shape) == 4:
        outputs, inputs, height, width = shape
        return chunk.view(outputs, height, width, inputs).permute(0, 3, 1, 2)
    return chunk.view(shape)
