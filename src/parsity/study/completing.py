"""What a study file leaves out: filled in from the built-in workload, or with the documented defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parsity.optimisation import metaparameter_names
from parsity.study.extents import USUAL, Extent, extent
from parsity.study.names import OPTIMISERS, SCHEDULES, mistaken
from parsity.study.ranges import usual_range
from parsity.training import USUAL_RANGES, WORKLOADS, Workload

PARTS = ("data", "network", "optimiser", "schedule")


def completed(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with what it leaves out, as far as can be told; mistakes stay as they are."""
    given = dict(document)
    workload = given.get("workload")
    built_in = WORKLOADS.get(workload) if isinstance(workload, str) else None
    found = {**(_of_built_in(built_in) if built_in else _of_own()), **given}
    space = found.get("space", {})
    if taken(workload) is not None and isinstance(space, Mapping):
        found["space"] = {**usual_space(workload), **space}
    return found


def usual_space(workload: object) -> dict[str, Any]:
    """What is searched where a study file does not say: a built-in workload's ranges, or the paper's for one's own."""
    if isinstance(workload, str) and workload in WORKLOADS:
        return WORKLOADS[workload].space.to_spec()
    names = taken(workload)
    return {name: usual_range(name) for name in USUAL_RANGES if names is not None and name in names.needed}


@dataclass(frozen=True)
class Taken:
    """The metaparameters an optimiser and a schedule need, and those they may have besides.

    ``more`` says that one of them is not built in: what it takes is known when the study is made.
    """

    needed: set[str]
    optional: set[str]
    more: bool


def taken(workload: object) -> Taken | None:
    """What a study file's workload takes; None where it is mistaken."""
    parts = parts_of(workload)
    if parts is None:
        return None
    optimiser, schedule = parts["optimiser"], parts["schedule"]
    if mistaken("optimisers", optimiser) or mistaken("schedules", schedule):
        return None
    own = (optimiser not in OPTIMISERS, schedule not in SCHEDULES)
    # In place of one's own, a built-in one that needs nothing.
    needed, optional = metaparameter_names("sgd" if own[0] else optimiser, "constant" if own[1] else schedule)
    return Taken(needed, optional, any(own))


def parts_of(workload: object) -> dict[str, str] | None:
    """Data, network, optimiser and schedule of a study file's workload; None where it is mistaken."""
    if isinstance(workload, str):
        if workload not in WORKLOADS:
            return None
        return {part: str(getattr(WORKLOADS[workload], part)) for part in PARTS}
    if not isinstance(workload, Mapping):
        return None
    parts = {"optimiser": "momentum", "schedule": "constant", **workload}
    texts = {part: parts[part] for part in PARTS if isinstance(parts.get(part), str)}
    return texts if len(texts) == len(PARTS) else None


def _of_built_in(workload: Workload) -> dict[str, Any]:
    grid = extent(workload.name)
    return {
        "name": workload.name,
        "goals": list(workload.goals),
        "check_interval": workload.check_interval,
        "step_limit": workload.step_limit,
        "criterion": workload.criterion,
        "eligible": workload.eligible,
        **_of_extent(grid or USUAL),
    }


def _of_own() -> dict[str, Any]:
    return {"name": "own", "check_interval": 16, "step_limit": 40_000, **_of_extent(USUAL)}


def _of_extent(extent: Extent) -> dict[str, Any]:
    return {
        "batch_sizes": list(extent.batch_sizes),
        "sparsities": list(extent.sparsities),
        "trials": extent.trials,
        "patience": extent.patience,
    }
