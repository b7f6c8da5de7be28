"""Some of a cell's trials, raced by all ranks of a group at once."""

from __future__ import annotations

from dataclasses import dataclass

from parsity.parallel.cell import ParallelCell
from parsity.racing import Runner, Shard


@dataclass(kw_only=True)
class ParallelShard(Shard):
    """The same on every rank. All begin from the checkpoint there is, and what rank 0 saves serves all.

    Ranks decide alike only while they know the same: ``bounds`` and ``pause`` must tell every rank the same.
    """

    cell: ParallelCell

    def _save(self, runner: Runner) -> None:
        if self.cell.group.first:
            super()._save(runner)
