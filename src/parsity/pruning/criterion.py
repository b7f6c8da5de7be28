"""What a pruning criterion is, and how one is found by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from parsity.errors import UsageError
from parsity.extensions import resolve

LabelledBatches = Iterable[tuple[Tensor, Tensor]]
"""Batches of (images, labels), which can be gone through more than once, in the same order."""


@runtime_checkable
class SummedBatches(Protocol):
    """Batches that know a quicker way to their gradient than autograd."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """(images, labels), batch by batch."""

    def summed_gradient(self, network: nn.Module, batches: int | None = None) -> Tensor | None:
        """Sum over all batches, or the first so many, of the gradient of their mean cross-entropy; None: not here."""


CRITERIA = {
    "snip": "parsity.pruning:SNIP",
    "magnitude": "parsity.pruning:Magnitude",
    "random": "parsity.pruning:Random",
    "grasp": "parsity.pruning:GraSP",
    "synflow": "parsity.pruning:SynFlow",
}


@runtime_checkable
class Criterion(Protocol):
    """Scores every parameter of a network: the higher, the more it is worth keeping."""

    @property
    def rounds(self) -> int:
        """In how many rounds the network is pruned, scored anew before each; 1 is pruning in a single shot."""
        ...

    def scores(self, network: nn.Module, batches: LabelledBatches, *, seed: int) -> Tensor:
        """Return one score per entry of the flat vector.

        They depend on nothing but the arguments, and ``network`` comes out as it went in.
        """
        ...


def find_criterion(criterion: str | Criterion) -> Criterion:
    """Return a criterion by its name in `CRITERIA`, an import path or an entry point; one given is given back.

    A name leads to a criterion, or to a callable without arguments that makes one.
    """
    if not isinstance(criterion, str):
        return criterion
    found = resolve("criteria", criterion, CRITERIA)
    if callable(found) and (isinstance(found, type) or not isinstance(found, Criterion)):
        found = found()
    if not isinstance(found, Criterion):
        raise UsageError(
            f"criterion {criterion!r}: expected an object with `rounds` and `scores`, found {type(found).__name__}"
        )
    return found
