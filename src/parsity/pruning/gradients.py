"""The gradient of the loss, summed over batches at fixed weights: what SNIP and GraSP cost."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity.errors import UsageError
from parsity.pruning.criterion import LabelledBatches, SummedBatches
from parsity.pruning.isolation import isolated

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Way:
    """How a batch is worked through: in slices of at most so many images, and with channels innermost or not."""

    slice_size: int | None
    channels_last: bool


_PLAIN = _Way(None, channels_last=False)
# The quickest first. On a CPU, channels innermost suits the convolutions, and activations of a few dozen images
# stay in the cache and below the size at which the allocator hands memory back to the system after every use.
_FASTER = (_Way(50, channels_last=True), _Way(50, channels_last=False), _Way(None, channels_last=True))
# Different orders of summation differ by about 1e-6 in float32; a batch norm that sees a slice, by tenths.
_AGREEMENT = 1e-3


def summed_gradient(network: nn.Module, batches: LabelledBatches, *, seed: int = 0) -> Tensor:
    """Sum over ``batches`` of the gradient of the batch's mean cross-entropy, as one flat vector.

    The weights are the same for every batch, and a shorter last batch still counts with its mean. Batches are cut
    into slices, weighted so that nothing changes, unless the network mixes the images of a batch (batch norm in
    training mode) or draws random numbers: a quicker way is taken only if it agrees with the plain one on the
    first batch. So is the batches' own way, where they have one (`SummedBatches`).
    """
    with isolated(network, seed=seed) as private:
        if isinstance(batches, SummedBatches) and _agrees(private, batches):
            found = batches.summed_gradient(private)
            if found is not None:
                return found
        way: _Way | None = None
        # The gradients add up in place, where autograd keeps them.
        for images, labels in batches:
            prepared = prepare(private, images, labels)
            if way is None:
                way = _quickest_way(private, *prepared)
                _arrange(private, way)
            _add_gradient(private, *prepared, way=way)
        if way is None:
            raise UsageError("there are no batches: a gradient needs at least one")
        return _gradient(private)


def prepare(network: nn.Module, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Bring a batch to the precision and the device of the network."""
    like = next(network.parameters())
    return images.to(like), labels.to(like.device, torch.long)


def _quickest_way(network: nn.Module, images: Tensor, labels: Tensor) -> _Way:
    """Return the first of the faster ways that gives the plain way's gradient on this batch."""
    plain = _trial(network, images, labels, way=_PLAIN)
    for way in _FASTER:
        if way.channels_last and images.dim() != 4:
            continue
        try:
            fast = _trial(network, images, labels, way=way)
        except RuntimeError as error:
            # The plain way has just worked; `view` on channels-last activations, for one, does not.
            logger.debug("%s is not possible here: %s", way, error)
            continue
        if _close(fast, plain):
            return way
        logger.debug("%s does not give the plain gradient; the network mixes images or is random", way)
    return _PLAIN


def _agrees(network: nn.Module, batches: SummedBatches) -> bool:
    """Whether the batches' own way gives the plain gradient of the first one."""
    own = batches.summed_gradient(network, 1)
    if own is None:
        return False
    plain = _trial(network, *prepare(network, *next(iter(batches))), way=_PLAIN)
    return _close(own, plain)


def _close(found: Tensor, plain: Tensor) -> bool:
    return bool(torch.linalg.vector_norm(found - plain) <= _AGREEMENT * torch.linalg.vector_norm(plain))


def _trial(network: nn.Module, images: Tensor, labels: Tensor, *, way: _Way) -> Tensor:
    with isolated(network, seed=0) as private:
        _arrange(private, way)
        _add_gradient(private, images, labels, way=way)
        return _gradient(private)


def _arrange(network: nn.Module, way: _Way) -> None:
    if way.channels_last:
        for parameter in network.parameters():
            if parameter.dim() == 4:
                # Not `contiguous`: with a single channel it keeps strides that convolutions take for channels first.
                parameter.data = parameter.data.clone(memory_format=torch.channels_last)


def _add_gradient(network: nn.Module, images: Tensor, labels: Tensor, *, way: _Way) -> None:
    """Add the gradient of one batch's mean loss to the gradients the network holds."""
    count = len(images)
    pieces = 1 if way.slice_size is None else -(-count // way.slice_size)
    layout = torch.channels_last if way.channels_last else torch.contiguous_format
    for some, their_labels in zip(images.tensor_split(pieces), labels.tensor_split(pieces), strict=True):
        logits = network(some.contiguous(memory_format=layout))
        loss = F.cross_entropy(logits, their_labels)
        if pieces > 1:
            loss = loss * (len(some) / count)
        loss.backward()  # type: ignore[no-untyped-call]


def _gradient(network: nn.Module) -> Tensor:
    """Return the gradients held, as one flat vector; a parameter the loss does not depend on has gradient 0."""
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]
    return torch.cat([part.reshape(-1) for part in parts])
