"""Step times and studies whose truth is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from parsity.planning import CostModel
from parsity.results import StepTime, StepTimes

TRUTH = CostModel(
    overhead={0.0: 4e-4, 0.9: 3e-4},
    per_image={0.0: 1e-4, 0.9: 4e-5},
    gamma=0.1,
    cores=8,
    latency=2e-4,
    byte_seconds=1e-9,
    waiting=0.05,
    sent={0.0: 4 * 62346, 0.9: 4 * 6235},
    parameters=62346,
)
SIZES = (2, 8, 32, 128, 512)


def step_times(
    truth: CostModel = TRUTH,
    *,
    sizes: Sequence[int] = SIZES,
    workers: Sequence[int] = (1, 2, 4, 8),
    noise: Callable[[], float] = lambda: 1.0,
    **known: object,
) -> StepTimes:
    """Rows that ``truth`` gives, each part times its own ``noise``."""
    rows = []
    for sparsity in truth.overhead:
        for count in workers:
            for size in sizes:
                step = truth.step(size, count, sparsity)
                compute, exchange = step.compute * noise(), step.exchange * noise()
                rows.append(
                    StepTime(
                        slice_size=size,
                        workers=count,
                        sparsity=sparsity,
                        compute=compute,
                        exchange=exchange,
                        low=0.9 * (compute + exchange),
                        high=1.1 * (compute + exchange),
                        bytes_sent=truth.sent[sparsity] if count > 1 else 0,
                        steps=20,
                    )
                )
    return StepTimes(
        workload={"data": "mnist", "network": "simple-cnn", "optimiser": "momentum", "schedule": "constant"},
        engine="native",
        machine={"cores": truth.cores, **known},
        parameters=truth.parameters,
        rows=tuple(rows),
    )


def lognormal(seed: int, spread: float) -> Callable[[], float]:
    """Factors exp(spread x normal)."""
    chance = random.Random(seed)
    return lambda: math.exp(chance.gauss(0, spread))
