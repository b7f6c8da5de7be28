"""The Hessian of the loss through Hessian-vector products: its largest eigenvalue (Lanczos), its trace (Hutchinson)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.special import stdtrit
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from parsity.data import Dataset
from parsity.results import CurvaturePoint
from parsity.smoothness.passes import nothing

AT_ONCE = 125
"""Images differentiated twice at once: their activations fit the caches better than many, and memory stays flat."""
CLOSE = 1e-4
"""Lanczos ends when some eigenvalue is known to lie this close to the largest found, relative to it."""
Product = Callable[[Tensor], Tensor]


class Hessian:
    """The Hessian of the mean loss over ``images`` at ``weights``, in the subspace of the surviving entries."""

    def __init__(
        self,
        network: nn.Module,
        dataset: Dataset,
        images: Tensor,
        weights: Tensor,
        mask: Tensor | None = None,
        *,
        pause: Callable[[], None] = nothing,
    ) -> None:
        self._network = network.eval()
        self._dataset = dataset
        self._images = images
        self._names = [name for name, _ in network.named_parameters()]
        self._shapes = [parameter.shape for parameter in network.parameters()]
        self._weights = weights
        self._pause = pause
        self.mask = torch.ones(len(weights), dtype=torch.bool) if mask is None else mask
        self.dimension = int(self.mask.sum())

    def __matmul__(self, vector: Tensor) -> Tensor:
        """The product with a vector of surviving entries, in float64; exact but for rounding: no differences taken."""
        whole = torch.zeros(len(self.mask)).masked_scatter_(self.mask, vector.float())
        found = torch.zeros(len(self.mask), dtype=torch.float64)
        for part in self._images.split(AT_ONCE):  # type: ignore[no-untyped-call]
            self._pause()
            found.add_(self._of(part, whole), alpha=len(part) / len(self._images))
        return found[self.mask]

    def _of(self, images: Tensor, vector: Tensor) -> Tensor:
        parameters = [part.detach().requires_grad_() for part in self._parts(self._weights)]
        pixels = self._dataset.normalise(self._dataset.images[images])
        # A copy, as `contiguous` leaves single-channel images as they are: channels last is twice as fast.
        pixels = pixels.to(memory_format=torch.channels_last, copy=True)
        logits = functional_call(self._network, dict(zip(self._names, parameters, strict=True)), (pixels,))
        loss = F.cross_entropy(logits, self._dataset.labels[images])
        gradients = torch.autograd.grad(loss, parameters, create_graph=True)
        products = torch.autograd.grad(gradients, parameters, self._parts(vector), materialize_grads=True)
        return torch.cat([product.flatten() for product in products])

    def _parts(self, vector: Tensor) -> list[Tensor]:
        chunks = vector.split([shape.numel() for shape in self._shapes])  # type: ignore[no-untyped-call]
        return [chunk.view(shape) for chunk, shape in zip(chunks, self._shapes, strict=True)]


def curvature(hessian: Hessian, *, step: int, images: int, iterations: int, probes: int, seed: int) -> CurvaturePoint:
    """The extreme eigenvalues within ``iterations`` products, and the trace from ``probes`` more."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(hessian.dimension, generator=generator, dtype=torch.float64)
    top, residual, bottom, took = lanczos(hessian.__matmul__, start, iterations)
    trace, reach = hutchinson(hessian.__matmul__, hessian.dimension, probes, generator)
    return CurvaturePoint(
        step=step,
        top=top,
        residual=residual,
        bottom=bottom,
        trace=trace,
        trace_low=trace - reach,
        trace_high=trace + reach,
        iterations=took,
        probes=probes,
        images=images,
    )


def lanczos(product: Product, start: Tensor, iterations: int) -> tuple[float, float, float, int]:
    """The largest eigenvalue, its residual, the least eigenvalue found, and how many products it took.

    Each new direction is made orthogonal to all before it, twice: without that, rounding brings eigenvalues back as
    ghosts. The residual |Hv - top v| is what the next direction's length leaves of the last component.
    """
    basis: list[Tensor] = [start / start.norm()]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        image = product(basis[-1]).double()
        diagonal.append(float(image @ basis[-1]))
        for _ in range(2):
            for direction in basis:
                image = image - direction * (image @ direction)
        left = float(image.norm())
        values, vectors = _eigen(diagonal, beside)
        top, residual = float(values[-1]), left * abs(float(vectors[-1, -1]))
        if residual <= CLOSE * abs(top) or len(basis) >= min(iterations, len(start)):
            return top, residual, float(values[0]), len(basis)
        beside.append(left)
        basis.append(image / left)


def hutchinson(product: Product, dimension: int, probes: int, generator: torch.Generator) -> tuple[float, float]:
    """The trace as the mean of z.Hz over random signs z, and half the width of its 95 % interval."""
    values = torch.tensor(list(_probed(product, dimension, probes, generator)), dtype=torch.float64)
    reach = float(stdtrit(probes - 1, 0.975)) * float(values.std()) / probes**0.5
    return float(values.mean()), reach


def _probed(product: Product, dimension: int, probes: int, generator: torch.Generator) -> Iterator[float]:
    for _ in range(probes):
        signs = torch.randint(2, (dimension,), generator=generator, dtype=torch.float64) * 2 - 1
        yield float(product(signs).double() @ signs)


def _eigen(diagonal: list[float], beside: list[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(diagonal) == 1:
        return np.array(diagonal), np.ones((1, 1))
    values, vectors = eigh_tridiagonal(diagonal, beside)
    return np.asarray(values), np.asarray(vectors)
