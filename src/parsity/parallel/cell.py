"""A cell whose trials are trained by all ranks of a group together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch

import parsity
from parsity.parallel.engine import ParallelEngine
from parsity.parallel.group import Group
from parsity.pruning import Mask
from parsity.racing import Cell


@dataclass(frozen=True, kw_only=True)
class ParallelCell(Cell):
    """The same cell on every rank; its trials are begun and raced by all of them at once."""

    group: Group = field(default_factory=Group)
    packed: bool = True

    @cached_property
    def engine(self) -> ParallelEngine:
        """The engine of one rank, behind which all of them work."""
        return ParallelEngine(super().engine, self.group, packed=self.packed)

    def mask(self, number: int) -> Mask:
        """The mask of trial ``number``: rank 0's, so that no rounding can tell the ranks' masks apart."""
        mask: Mask = self.group.shared(super().mask(number) if self.group.first else None)
        return mask

    def agree(self) -> None:
        """Refuse to train together with ranks that would train something else."""
        self.group.agree(
            {
                "workload, data and cell": self.identity[:12],
                "engine": self.engine.inner.name,
                "parsity": parsity.__version__,
                "torch": torch.__version__,
            }
        )
