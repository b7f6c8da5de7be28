"""Seconds of a training step against slice size b, workers W and density: t = compute + exchange.

    compute  = (a_S + c_S b) g(W)                  g(W) = min(W, C)^gamma max(1, W / C) on one machine of C cores
    exchange = r(W) latency + 2 (W - 1) / W n_S / bandwidth + w compute        0 for W = 1

a_S is what a step costs besides its images and c_S what an image costs, at sparsity S; g tells how much workers that
share a machine are in each other's way; n_S are the bytes a worker hands over, r(W) = 2 (W - 1) the rounds of a ring;
w is the share of the compute that workers wait for the slowest of them. On a described cluster every worker has a
device of its own: g = 1, a and c are divided by the device's speed, and latency and bandwidth are those described.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from parsity.errors import UsageError
from parsity.planning.cluster import Algorithm, Cluster
from parsity.planning.regression import FLOOR, Floats, fit_relative
from parsity.results import StepTime, StepTimes

GAMMAS = tuple(place / 20 for place in range(21))


@dataclass(frozen=True)
class Step:
    """Seconds of one step."""

    compute: float
    exchange: float

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.compute + self.exchange


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """The model and its parameters; what is about an exchange is None where one worker alone was measured."""

    overhead: Mapping[float, float]
    """a_S: seconds a step costs besides its images, by sparsity."""
    per_image: Mapping[float, float]
    """c_S: seconds an image costs, by sparsity."""
    gamma: float
    cores: int
    latency: float | None
    byte_seconds: float | None
    """1 / bandwidth."""
    waiting: float | None
    sent: Mapping[float, int]
    """n_S: bytes a worker hands over in a step, by sparsity, as measured."""
    parameters: int
    cluster: Cluster | None = None

    def step(self, slice_size: int, workers: int, sparsity: float) -> Step:
        """What a step costs when each of ``workers`` takes ``slice_size`` images."""
        speed = self.cluster.device_speed if self.cluster is not None else 1.0
        alone = at(self.overhead, sparsity) + at(self.per_image, sparsity) * slice_size
        compute = alone * (self._crowding(workers) if self.cluster is None else 1.0) / speed
        return Step(compute, self._exchange(workers, sparsity, compute) if workers > 1 else 0.0)

    def on(self, cluster: Cluster) -> CostModel:
        """The same on a described cluster."""
        return replace(
            self,
            cluster=cluster,
            latency=cluster.latency if cluster.latency is not None else self.latency,
            byte_seconds=1 / cluster.bandwidth if cluster.bandwidth is not None else self.byte_seconds,
        )

    @property
    def knows_exchange(self) -> bool:
        """Whether steps of more than one worker can be told."""
        return self.latency is not None and self.byte_seconds is not None

    def bytes_sent(self, sparsity: float) -> float:
        """n_S; four bytes for each surviving weight where that sparsity was not measured."""
        return self.sent.get(sparsity, 4.0 * self.parameters * (1 - sparsity))

    def _exchange(self, workers: int, sparsity: float, compute: float) -> float:
        if self.latency is None or self.byte_seconds is None:
            return math.nan
        algorithm = self.cluster.exchange if self.cluster is not None else "ring"
        moved = 2 * (workers - 1) / workers * self.bytes_sent(sparsity)
        waited = (self.waiting or 0.0) * compute
        return rounds(workers, algorithm) * self.latency + moved * self.byte_seconds + waited

    def _crowding(self, workers: int) -> float:
        return crowding(workers, self.cores, self.gamma)


def rounds(workers: int, algorithm: Algorithm = "ring") -> int:
    """How many messages follow one another while W workers average."""
    return 2 * (workers - 1) if algorithm == "ring" else 2 * math.ceil(math.log2(workers))


def crowding(workers: int, cores: int, gamma: float) -> float:
    """g(W)."""
    return float(min(workers, cores) ** gamma * max(1.0, workers / cores))


def at(by_sparsity: Mapping[float, float], sparsity: float) -> float:
    """A value at any sparsity: linear in the density between those measured, the nearest one's beyond."""
    known = sorted(by_sparsity)
    return float(np.interp(sparsity, known, [by_sparsity[one] for one in known]))


def fit_cost_model(times: StepTimes) -> CostModel:
    """Fit all parameters to what was measured; relative errors count, and outliers little."""
    rows = [row for row in times.rows if row.compute > 0]
    usable = [
        sparsity
        for sparsity in sorted({row.sparsity for row in rows})
        if len({row.slice_size for row in rows if row.sparsity == sparsity}) > 1
    ]
    if not usable:
        raise UsageError("step times: no sparsity has two slice sizes, so images and overhead cannot be told apart")
    rows = [row for row in rows if row.sparsity in usable]
    cores = _cores(times)
    gamma = _gamma(rows, cores)
    compute = {sparsity: _compute(rows, sparsity, cores, gamma) for sparsity in usable}
    model = CostModel(
        overhead={sparsity: found[0] for sparsity, found in compute.items()},
        per_image={sparsity: found[1] for sparsity, found in compute.items()},
        gamma=gamma,
        cores=cores,
        latency=None,
        byte_seconds=None,
        waiting=None,
        sent={row.sparsity: row.bytes_sent for row in rows if row.workers > 1},
        parameters=times.parameters,
    )
    return _with_exchange(model, [row for row in rows if row.workers > 1 and row.exchange > 0])


def _cores(times: StepTimes) -> int:
    found = times.machine.get("cores")
    if isinstance(found, int) and not isinstance(found, bool) and found > 0:
        return found
    return max((row.workers for row in times.rows), default=1)


def _gamma(rows: Sequence[StepTime], cores: int) -> float:
    """How much workers are in each other's way: the gamma with the least sum of absolute relative errors."""
    if len({row.workers for row in rows}) < 2:
        return 0.0

    def off(gamma: float) -> float:
        total = 0.0
        for sparsity in {row.sparsity for row in rows}:
            overhead, per_image = _compute(rows, sparsity, cores, gamma)
            for row in rows:
                if row.sparsity == sparsity:
                    found = (overhead + per_image * row.slice_size) * crowding(row.workers, cores, gamma)
                    total += abs(found / row.compute - 1) / (FLOOR + _spread(row))
        return total

    return min(GAMMAS, key=off)


def _compute(rows: Sequence[StepTime], sparsity: float, cores: int, gamma: float) -> tuple[float, float]:
    chosen = [row for row in rows if row.sparsity == sparsity]
    factors = np.array([crowding(row.workers, cores, gamma) for row in chosen])
    sizes = np.array([row.slice_size for row in chosen], dtype=float)
    overhead, per_image = fit_relative(
        np.column_stack([factors, factors * sizes]), np.array([row.compute for row in chosen]), _spreads(chosen)
    )
    return float(overhead), float(per_image)


def _spread(row: StepTime) -> float:
    """How far apart the quartiles of the step lie, as a standard deviation over the median."""
    return max(0.0, row.high - row.low) / (1.349 * row.seconds)


def _spreads(rows: Sequence[StepTime]) -> Floats:
    return np.array([_spread(row) for row in rows])


def _with_exchange(model: CostModel, rows: Sequence[StepTime]) -> CostModel:
    if not rows:
        return model
    terms: Floats = np.array(
        [
            [
                rounds(row.workers),
                2 * (row.workers - 1) / row.workers * row.bytes_sent,
                model.step(row.slice_size, row.workers, row.sparsity).compute,
            ]
            for row in rows
        ]
    )
    latency, byte_seconds, waiting = fit_relative(terms, np.array([row.exchange for row in rows]), _spreads(rows))
    return replace(model, latency=float(latency), byte_seconds=float(byte_seconds), waiting=float(waiting))
