"""What every engine offers.

An `Engine` is made once for a network and a data set; it may compile, trace or allocate. Each trial then gets a
`Replica`: one copy of the network's weights, with its mask and the optimiser's slots, that can be advanced. Vectors
are flat float32, in the order of ``network.named_parameters()``, each parameter in its own contiguous layout,
whatever an engine keeps inside. Images are named by their index in the data set's training file.

Numbers depend on (weights, mask, slots, images, rule) alone - never on other replicas, or on how a replica got there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from parsity.data import Dataset
from parsity.errors import ParsityError
from parsity.optimisation import Rule

CPU = torch.device("cpu")


class UnsupportedNetworkError(ParsityError):
    """This engine cannot run this network, and the message says why; another engine may."""


@dataclass(frozen=True)
class Snapshot:
    """Everything a replica is, as tensors of its own: what a checkpoint keeps."""

    weights: Tensor
    slots: tuple[Tensor, ...]
    buffers: tuple[Tensor, ...]


class Replica(ABC):
    """One trial's weights, ready to be advanced."""

    @abstractmethod
    def advance(self, batches: Sequence[Tensor], rule: Rule, step: int) -> Tensor:
        """Take ``len(batches)`` steps, the first being number ``step``; return each step's loss before its update.

        Losses and gradients are means over the batch. What becomes infinite or not-a-number is left so.
        """

    @abstractmethod
    def gradient(self, images: Tensor) -> tuple[float, Tensor]:
        """The mean loss over ``images`` and its gradient, however many; pruned entries of the gradient are zero."""

    @abstractmethod
    def update(self, gradient: Tensor, rule: Rule, step: int) -> None:
        """Take step number ``step`` with a gradient that was come by elsewhere; its pruned entries are zero."""

    def deviations(self, images: Tensor, centre: Tensor) -> Tensor:
        """|gradient of one image - ``centre``|^2 for each image, in float64.

        ``centre`` is zero where entries are pruned, as gradients are, such as their mean.
        """
        each = (self.gradient(image[None])[1].double() - centre for image in images)
        return torch.stack([difference.square().sum() for difference in each])

    @abstractmethod
    def margins(self, images: Tensor) -> Tensor:
        """By how much the label's logit exceeds the highest other one; an image is right if that is above zero."""

    @abstractmethod
    def finite(self) -> bool:
        """Whether every weight is finite. What once is not stays so, as no update can bring it back."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """A copy of the state, from which `Engine.replica` goes on bit for bit."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that `snapshot` gave."""


class Engine(ABC):
    """Makes replicas of one network over one data set."""

    name: ClassVar[str]

    def __init__(self, network: nn.Module, dataset: Dataset, device: torch.device = CPU) -> None:
        self.device = device
        self.network = network.to(device)
        # Pixels stay where they are computed with; snapshots, margins and losses always come back to the CPU.
        self.dataset = dataset.to(device)

    @abstractmethod
    def replica(self, snapshot: Snapshot, *, mask: Tensor | None = None, seed: int = 0) -> Replica:
        """A replica at ``snapshot``; with a flat boolean ``mask``, pruned entries are and stay exactly zero.

        ``seed`` serves networks that draw random numbers while training, such as dropout.
        """
