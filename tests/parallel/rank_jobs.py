"""Jobs for the ranks of these tests: processes of their own, which import this by name."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from parsity import Dataset, Workload
from parsity.engines import Engine, Replica, arithmetic, make_engine
from parsity.errors import UsageError
from parsity.metaparameters import Space
from parsity.optimisation import Rule
from parsity.parallel import Group, ParallelCell, ParallelEngine, slice_of
from parsity.pruning import flatten
from parsity.racing import Cell
from parsity.training import Trial, workload

OPTIMISERS = ("sgd", "momentum", "nesterov")


def pictures(side: int, channels: int) -> Dataset:
    """600 images of ten classes, not easily told."""
    generator = torch.Generator().manual_seed(side)
    labels = torch.arange(600) % 10
    centres = torch.randn(10, channels, side, side, generator=generator)
    noise = torch.randn(600, channels, side, side, generator=generator)
    return Dataset.from_tensors(0.5 * centres[labels] + noise, labels, name=f"pictures-{side}")


def small() -> Dataset:
    return pictures(28, 1)


def coloured() -> Dataset:
    return pictures(32, 3)


def steady(network: str, optimiser: str, *, rate: float = 0.01) -> Workload:
    """A workload whose one trial is the same everywhere, and never at its goal."""
    space = {"learning_rate": rate, **({} if optimiser == "sgd" else {"momentum": 0.9})}
    return Workload(
        data={"digits-cnn": "digits", "simple-cnn": small, "resnet-8": coloured}[network],
        network=network,
        optimiser=optimiser,
        space=Space.from_spec(space),
        goals=(0.0,),
        check_interval=50,
        step_limit=200,
    )


@dataclass(frozen=True)
class Case:
    """One cell, of which one trial is trained."""

    workload: Workload
    batch_size: int
    sparsity: float = 0.0
    packed: bool = True


@dataclass(frozen=True)
class Path200:
    """A trial on its way: weights at every check, and how it ended."""

    weights: list[Tensor]
    outcomes: dict[float, Any]
    looked: int


def followed(trial: Trial) -> Path200:
    """Run it, and keep what it passes through."""
    weights = []
    with arithmetic(threads=1):
        while trial.pending:
            if trial.work():
                weights.append(trial.replica.snapshot().weights)
    return Path200(weights, dict(trial.outcomes), trial.images_looked_at)


def alone(case: Case, *, slices: int = 1, engine: str = "auto") -> Path200:
    """The same trial in one process, as a race has it, or with its gradients summed over slices."""
    cell = Cell(workload=case.workload, batch_size=case.batch_size, sparsity=case.sparsity, engine_name=engine)
    trial = cell.begin(1)
    if slices > 1:
        replica = trial.replica

        def advance(batches: Sequence[Tensor], rule: Rule, step: int) -> Tensor:
            losses = torch.zeros(len(batches))
            for index, batch in enumerate(batches):
                summed = None
                for rank in range(slices):
                    part = batch[slice_of(len(batch), rank, slices)]
                    loss, gradient = replica.gradient(part)
                    mine = gradient * (len(part) / len(batch))
                    summed = mine if summed is None else summed + mine
                    losses[index] += loss * len(part) / len(batch)
                assert summed is not None
                replica.update(summed, rule, step + index)
            return losses

        replica.advance = advance  # type: ignore[method-assign]
    return followed(trial)


@dataclass(frozen=True)
class Follow:
    """Train each case with all ranks; rank 0 also says whether all ended with the same bits, and the bytes sent."""

    cases: Sequence[Case]
    device: str = "cpu"

    def run(self, group: Group, say: object) -> list[tuple[Path200, bool, int]]:
        found = []
        for case in self.cases:
            cell = ParallelCell(
                workload=case.workload,
                batch_size=case.batch_size,
                sparsity=case.sparsity,
                group=group,
                packed=case.packed,
            )
            cell.agree()
            path = followed(cell.begin(1))
            ends = group.gathered((path.weights[-1].numpy().tobytes(), path.outcomes) if path.weights else None)
            same = all(one == ends[0] for one in ends)
            found.append((path, same, cell.engine.meter.bytes_per_step))
        return found


@dataclass(frozen=True)
class SumBothWays:
    """One gradient of a pruned network, packed and dense."""

    batch_size: int
    device: str = "cpu"

    def run(self, group: Group, say: object) -> tuple[Tensor, Tensor, Tensor]:
        work = workload("digits")
        network, data = work.make_network(3), work.load_data()
        count = sum(parameter.numel() for parameter in network.parameters())
        mask = torch.rand(count, generator=torch.Generator().manual_seed(5)) < 0.1
        inner = make_engine("auto", network, data)
        begin = Cell(workload=work, batch_size=1, sparsity=0.0).begin(1).save().snapshot
        images = torch.arange(self.batch_size)
        packed, dense = (
            ParallelEngine(inner, group, packed=way).replica(begin, mask=mask).gradient(images)[1]
            for way in (True, False)
        )
        return packed, dense, mask


@dataclass(frozen=True)
class All:
    """Several jobs, one after the other, on the same ranks."""

    jobs: Sequence[Any]
    device: str = "cpu"

    def run(self, group: Group, say: Any) -> list[Any]:
        return [job.run(group, say) for job in self.jobs]


class _Fated(Engine):
    """An engine whose replica meets its fate in the middle of a step."""

    name = "fated"

    def __init__(self, inner: Engine, fate: int, after: int) -> None:
        super().__init__(inner.network, inner.dataset)
        self.inner, self.fate, self.left = inner, fate, after

    def replica(self, *arguments: Any, **named: Any) -> Replica:
        replica = self.inner.replica(*arguments, **named)
        gradient = replica.gradient

        def fated(images: Tensor) -> tuple[float, Tensor]:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.fate)
            return gradient(images)

        replica.gradient = fated  # type: ignore[method-assign]
        return replica


@dataclass(frozen=True)
class Doomed:
    """A trial in whose step ``after`` rank ``rank`` gets a signal; with ``once``, only while that file is not there."""

    rank: int
    fate: int = signal.SIGKILL
    after: int = 7
    once: Path | None = None
    device: str = "cpu"

    def run(self, group: Group, say: object) -> int:
        meet = group.rank == self.rank
        if self.once is not None and meet:
            meet = not self.once.exists()
            self.once.touch()
        work = steady("digits-cnn", "sgd")
        network = work.make_network(1)
        engine: Engine = make_engine("auto", network, work.load_data())
        if meet:
            engine = _Fated(engine, self.fate, self.after)
        cell = ParallelCell(workload=work, batch_size=12, sparsity=0.0, group=group)
        trial = cell.begin(1)
        trial.replica = ParallelEngine(engine, group).replica(trial.save().snapshot)
        while trial.pending:
            trial.work()
        return trial.step


@dataclass(frozen=True)
class Mistaken:
    """Rank 1 finds something wrong, in one of several ways."""

    how: str
    device: str = "cpu"

    def run(self, group: Group, say: object) -> int:
        if self.how == "other weights":
            work = steady("digits-cnn", "sgd", rate=0.01 + group.rank)
            ParallelCell(workload=work, batch_size=4, sparsity=0.0, group=group).agree()
        if group.rank == 1:
            raise UsageError("rank 1 does not like it") if self.how == "usage" else ValueError("a bug")
        group.gathered(None)
        return flatten(workload("digits").make_network(1)).numel()


@dataclass(frozen=True)
class Listening:
    """Hears ``count`` letters of its starter, and tells what each rank has heard, and when."""

    count: int
    device: str = "cpu"

    def run(self, group: Group, say: Any) -> list[Any]:
        heard: list[Any] = []
        asked = 0
        while len(heard) < self.count:
            asked += 1
            letters = group.told()
            heard += [(asked, letter) for letter in letters]
            for letter in letters:
                say(("heard", letter))
        return group.gathered(heard)


@dataclass(frozen=True)
class Enduring:
    """Says which process each rank is, and never ends by itself."""

    device: str = "cpu"

    def run(self, group: Group, say: Any) -> None:
        say(group.gathered(os.getpid()))
        while True:
            group.told()
