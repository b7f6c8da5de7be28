"""The ranks that train together, and what they can do as one: sum, share, compare.

A rank alone needs no connection, and does all of it at once. With several, every collective call either ends on all
ranks or raises `LostRankError` on each that is left, at once where a connection breaks and after ``timeout`` where
nothing is heard.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch import distributed as ranks

from parsity.errors import ParsityError, UsageError
from parsity.parallel.job import Ask
from parsity.parallel.losing import TIMEOUT, LostRankError

TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Group:
    """This process's place among the ranks."""

    def __init__(self, rank: int = 0, size: int = 1, backend: str = "none", post: Ask = list) -> None:
        """``post`` gives what the starter has sent to this rank since it was last asked."""
        self.rank = rank
        self.size = size
        self._post = post
        self.backend = backend
        """``gloo``, ``nccl``, or ``none`` where nothing is sent."""

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which speaks for all."""
        return self.rank == 0

    def sum_(self, numbers: Tensor) -> None:
        """Make ``numbers`` the sum of what all ranks hold, the same bits on every rank."""
        if self.size == 1:
            return
        with self._together():
            if self.backend != "nccl":
                ranks.all_reduce(numbers)
                return
            there = numbers.cuda()
            ranks.all_reduce(there)
            numbers.copy_(there)

    def shared(self, value: Any) -> Any:
        """Rank 0's ``value``, on every rank."""
        box = [value]
        if self.size > 1:
            with self._together():
                ranks.broadcast_object_list(box, src=0)
        return box[0]

    def gathered(self, value: Any) -> list[Any]:
        """What each rank has, in the order of the ranks."""
        found: list[Any] = [value] * self.size
        if self.size > 1:
            with self._together():
                ranks.all_gather_object(found, value)
        return found

    def told(self) -> list[Any]:
        """What the starter has sent to rank 0 since the last time, on every rank."""
        letters = list(self._post()) if self.first else []
        count = torch.tensor([float(len(letters))])
        self.sum_(count)  # mostly there is nothing, and this is all it takes
        found: list[Any] = self.shared(letters) if count.item() else []
        return found

    def agree(self, facts: dict[str, object]) -> None:
        """Refuse to go on unless all ranks have the same ``facts``; say who differs in what."""
        everyone = self.gathered(facts)
        for rank, theirs in enumerate(everyone):
            differing = [name for name in facts if theirs[name] != everyone[0][name]]
            if differing:
                told = "; ".join(f"{name}: {everyone[0][name]} on rank 0, {theirs[name]}" for name in differing)
                raise UsageError(f"rank {rank} of {self.size}: it does not train what rank 0 trains: {told}")

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:  # torch raises this, or a child of it, for whatever goes wrong with a connection
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise LostRankError(f"rank {self.rank} of {self.size}: another rank was lost ({reason})") from error


@contextlib.contextmanager
def joined(
    rank: int, size: int, *, place: str, device: str = "cpu", timeout: float = TIMEOUT, post: Ask = list
) -> Iterator[Group]:
    """Meet the other ranks at ``place``, a URL as torch.distributed takes it, and part from them at the end."""
    if size == 1:
        yield Group(post=post)
        return
    backend = "nccl" if device.startswith("cuda") else "gloo"
    if not ranks.is_available() or not ranks.is_backend_available(backend):
        raise ParsityError(f"{size} ranks: this build of torch has no {backend}; install one with torch.distributed")
    try:
        ranks.init_process_group(
            backend, init_method=place, rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
        )
    except (RuntimeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise LostRankError(f"rank {rank} of {size}: the ranks did not meet at {place} ({reason})") from error
    try:
        yield Group(rank, size, backend, post)
    finally:
        ranks.destroy_process_group()


def started_by_torchrun() -> bool:
    """Whether this process was told its rank, as torchrun and other launchers of torch do."""
    return all(name in os.environ for name in TORCHRUN)


@contextlib.contextmanager
def joined_by_torchrun(*, device: str = "cpu", timeout: float = TIMEOUT) -> Iterator[Group]:
    """Join the ranks that torchrun started, on any number of machines."""
    try:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except ValueError as error:
        raise UsageError(f"RANK and WORLD_SIZE in the environment: whole numbers are needed ({error})") from error
    with joined(rank, size, place="env://", device=device, timeout=timeout) as group:
        yield group


def device_of(device: str, rank: int) -> str:
    """Each rank's own graphics card where there are several: torchrun says which, or the rank does."""
    found = "cuda" if device == "auto" and torch.cuda.is_available() else "cpu" if device == "auto" else device
    if found != "cuda":
        return found
    local = int(os.environ.get("LOCAL_RANK", rank))
    card = f"cuda:{local % max(1, torch.cuda.device_count())}"
    if torch.cuda.is_available():
        torch.cuda.set_device(card)
    return card
