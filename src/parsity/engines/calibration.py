"""Choosing an engine by measurement: a few training steps of each, side by side, on the machine they will run on.

The engines take turns, so that all of them meet the same machine, and each engine's median counts. Of a batch larger
than `CALIBRATED` images one slice is timed: engines work such batches off in slices. Near-ties take the fixed order,
so that noise does not decide; and what was decided is remembered on this machine, so that two studies of the same cell
have the same engine.
"""

from __future__ import annotations

import json
import logging
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from parsity.data import Dataset
from parsity.engines.arithmetic import stopwatch
from parsity.engines.choice import ENGINES, available_engines, make_engine
from parsity.engines.contract import CPU, Engine, Snapshot, UnsupportedNetworkError
from parsity.engines.remembering import recall, remember
from parsity.errors import ParsityError
from parsity.optimisation import Rule
from parsity.results import EngineChoice

logger = logging.getLogger(__name__)

CALIBRATED = 128  # images of a timed step, at most: a slice of the traced engine, eight of the native one
STEPS = 16  # of a call, at most: engines are called for a check interval at a time
MARGIN = 0.10  # by which a later engine of the fixed order has to be faster
SECONDS = 0.3  # of a calibration, warming up aside
FEWEST, MOST = 3, 9  # rounds


class Calibrator:
    """Chooses engines for the cells of one network over one data set; each engine is made once, when it is needed."""

    def __init__(
        self,
        make_network: Callable[[], nn.Module],
        dataset: Dataset,
        *,
        device: str = "cpu",
        memory: Path | None = None,
    ) -> None:
        """``make_network`` gives a network of its own each time; choices are remembered in ``memory``, if at all."""
        self._make_network = make_network
        self._dataset = dataset
        self._device = device
        self._memory = memory
        self._engines: dict[str, Engine] = {}

    def choose(
        self, *, batch_size: int, weights: Tensor, mask: Tensor | None, rule: Rule, sparsity: float
    ) -> EngineChoice:
        """The engine for a cell whose trials begin with such ``weights`` and ``mask``, and learn by such a ``rule``."""
        if self._device != "cpu":
            # Measured on graphics cards nowhere yet: there, the order of `make_engine` stands.
            engine = make_engine("auto", self._make_network(), self._dataset, device=self._device)
            return EngineChoice(engine=engine.name, how="given")
        images = min(batch_size, CALIBRATED)
        facts = {
            "network": str(self._make_network()),
            "weights": len(weights),
            "image": list(self._dataset.images.shape[1:]),
            "optimiser": type(rule.optimiser).__qualname__,
            "images": images,
            "sparsity": sparsity,
            "threads": torch.get_num_threads(),
        }
        known = recall(self._memory, facts) if self._memory else None
        if known is not None and known.engine in available_engines() and self._engine(known.engine) is not None:
            return known
        choice = self._measured(images, weights, mask, rule)
        if self._memory is not None:
            remember(self._memory, facts, choice)
        logger.info("batch size %d, sparsity %g: %s", batch_size, sparsity, json.dumps(asdict(choice)))
        return choice

    def _measured(self, images: int, weights: Tensor, mask: Tensor | None, rule: Rule) -> EngineChoice:
        steps = max(1, min(STEPS, CALIBRATED // images))
        order = torch.randint(
            len(self._dataset.images), (steps * images,), generator=torch.Generator().manual_seed(images)
        )
        batches = order.split(images)  # type: ignore[no-untyped-call]
        # At a rate of 0 the arithmetic is the same, and no metaparameters of a bad trial can lead it into infinity.
        still = Rule(rule.optimiser, rule.schedule, 0.0)
        ways: dict[str, Callable[[], object]] = {}
        for name in available_engines():
            engine = self._engine(name)
            if engine is None:
                continue
            slots = tuple(torch.zeros_like(weights) for _ in range(rule.optimiser.slots))
            buffers = tuple(buffer.clone() for buffer in engine.network.buffers())
            replica = engine.replica(Snapshot(weights.clone(), slots, buffers), mask=mask)
            try:
                replica.advance(batches, still, 0)
            except UnsupportedNetworkError as error:
                logger.info("%s: not for the %s engine", error, name)
                continue
            ways[name] = lambda replica=replica: replica.advance(batches, still, 0)  # type: ignore[misc]
        if len(ways) == 1:
            return EngineChoice(engine=next(iter(ways)), how="given")
        seconds = {name: taken / steps for name, taken in side_by_side(ways).items()}
        return EngineChoice(engine=fastest(seconds), how="measured", seconds=seconds, images=images)

    def _engine(self, name: str) -> Engine | None:
        """The engine called ``name``, or None where it cannot run the network."""
        if name not in self._engines:
            try:
                self._engines[name] = make_engine(name, self._make_network(), self._dataset)
            except UnsupportedNetworkError as error:
                logger.info("%s: not for the %s engine", error, name)
                return None
        return self._engines[name]


def side_by_side(ways: Mapping[str, Callable[[], object]], *, seconds: float = SECONDS) -> dict[str, float]:
    """The median seconds of each of ``ways``, which take turns; each has run once before."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    clock = stopwatch(CPU)
    began = clock()
    for number in range(1, MOST + 1):
        for name, way in ways.items():
            started = clock()
            way()
            taken[name].append(clock() - started)
        if number >= FEWEST and clock() - began > seconds:
            break
    return {name: statistics.median(some) for name, some in taken.items()}


def fastest(seconds: Mapping[str, float]) -> str:
    """The first engine of the fixed order that none beats by more than the margin."""
    best = min(seconds.values(), default=0.0)
    for name in ENGINES:
        if name in seconds and seconds[name] <= best * (1 + MARGIN):
            return name
    raise ParsityError("no engine can run this network")
