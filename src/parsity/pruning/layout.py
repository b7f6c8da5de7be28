"""The flat vector: every parameter of a network, end to end, in the order of ``named_parameters()``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from parsity.errors import UsageError


@dataclass(frozen=True)
class Layout:
    """Which stretch of the flat vector belongs to which tensor."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, network: nn.Module) -> Layout:
        """Read off the layout of ``network``."""
        named = list(network.named_parameters())
        return cls(
            tuple(name for name, _ in named),
            tuple(tuple(parameter.shape) for _, parameter in named),
        )

    @property
    def sizes(self) -> list[int]:
        """The number of entries of each tensor."""
        return [math.prod(shape) for shape in self.shapes]

    @property
    def total(self) -> int:
        """The length of the flat vector."""
        return sum(self.sizes)

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Cut a flat vector into tensors (views of it) by name."""
        if flat.shape != (self.total,):
            raise UsageError(
                f"a flat vector of shape {tuple(flat.shape)} does not fit a network of {self.total} parameters"
            )
        pieces = torch.split(flat, self.sizes)
        return {name: piece.view(shape) for name, shape, piece in zip(self.names, self.shapes, pieces, strict=True)}


def flatten(network: nn.Module) -> Tensor:
    """Return the parameters of ``network`` as one vector, detached from them."""
    parameters = [parameter.detach().reshape(-1) for parameter in network.parameters()]
    # `cat` of a single tensor may be that tensor; a caller must never hold the network's own memory.
    return torch.cat(parameters).clone() if parameters else torch.empty(0)
