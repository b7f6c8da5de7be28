"""The built-in workloads: the embedded digits, the paper's eleven, and a noisy quadratic."""

from __future__ import annotations

from parsity.errors import UsageError
from parsity.extensions import unknown
from parsity.metaparameters import Log, ReverseLog, Space
from parsity.training.definition import Workload


def _paper(data: str, optimiser: str, schedule: str, suffix: str = "") -> Workload:
    small = data != "cifar10"
    return Workload(
        name=f"{data}-{optimiser}{suffix}",
        data=data,
        network="simple-cnn" if small else "resnet-8",
        optimiser=optimiser,
        schedule=schedule,
        goals={"mnist": (0.02,), "fashion-mnist": (0.12, 0.14), "cifar10": (0.40,)}[data],
        check_interval=16 if small else 32,
        step_limit=40_000 if small else 100_000,
    )


_ALL = [
    Workload(
        name="digits",
        data="digits",
        network="digits-cnn",
        optimiser="momentum",
        goals=(0.04,),
        # A goal of so few steps is reached by chance now and then; the denser the search, the less that shows.
        space=Space({"learning_rate": Log(1e-3, 0.5), "momentum": ReverseLog(0.8, 0.99)}),
        check_interval=2,
        step_limit=8_000,
    ),
    *(_paper(data, opt, "constant") for data in ("mnist", "fashion-mnist") for opt in ("sgd", "momentum", "nesterov")),
    *(_paper("cifar10", opt, "linear") for opt in ("sgd", "momentum", "nesterov")),
    *(_paper("cifar10", opt, "constant", "-constant") for opt in ("sgd", "momentum")),
    Workload(
        name="quadratic",
        data="parsity.quadratic:images",
        network="parsity.quadratic:Quadratic",
        optimiser="sgd",
        goals=(0.005,),
        check_interval=2,
        step_limit=20_000,
    ),
]

WORKLOADS: dict[str, Workload] = {one.name: one for one in _ALL}


def workload(name: str) -> Workload:
    """The built-in workload called ``name``."""
    try:
        return WORKLOADS[name]
    except KeyError:
        raise UsageError(unknown("workloads", name, WORKLOADS)) from None
