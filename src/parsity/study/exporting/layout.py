"""The layout of the data that Shallue et al. (2019) published: what its folders, fields and scales are called.

::

    DATASET/MODEL/OPTIMIZER/BATCH_SIZE/study.json
    DATASET/MODEL/OPTIMIZER/BATCH_SIZE/TRIAL/metadata.json
    DATASET/MODEL/OPTIMIZER/BATCH_SIZE/TRIAL/measurements.csv

Their data are dense. What is sparse lies in the same folders under ``sparsity_0.9/`` and the like, as their own special
workloads lie under names like ``mnist_subsets/``. The files have one further key, ``parsity``, with what the layout has
no place for; their loader passes over it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parsity.training import WORKLOADS

KEY = "parsity"
STEP = "step"
LOSS = "train/cross_entropy_error"
ERROR = "val/classification_error"
TEST_ERROR = "test/classification_error"
MET = "val/met_goal_"

_DATASETS = {"cifar10": "cifar_10"}
_OPTIMIZERS = {"nesterov": "nesterov_momentum"}
_PARAMETERS = {"decay_steps": "learning_rate_decay_steps"}
_SCALES = {"linear": "LINEAR_SCALE", "log": "LOG_SCALE", "reverse-log": "REVERSE_LOG_SCALE"}


def workload_names(spec: Mapping[str, Any]) -> dict[str, str]:
    """Dataset, model and optimizer, in the layout's spelling."""
    if "imported" in spec:
        return {name: str(spec["imported"][name]) for name in ("dataset", "model", "optimizer")}
    workload = spec["workload"]
    parts = workload if isinstance(workload, Mapping) else vars(WORKLOADS[workload])
    names = {"dataset": str(parts["data"]), "model": str(parts["network"]), "optimizer": str(parts["optimiser"])}
    known = {"dataset": _DATASETS, "model": {}, "optimizer": _OPTIMIZERS}
    return {kind: known[kind].get(name, re.sub(r"[^\w.]+", "_", name)) for kind, name in names.items()}


def study_folder(names: Mapping[str, str], batch_size: int, sparsity: float) -> Path:
    """Where a cell lies."""
    top = Path(f"sparsity_{sparsity}") if sparsity else Path()
    return top / names["dataset"] / names["model"] / names["optimizer"] / str(batch_size)


def parameter_configs(space: Mapping[str, Any]) -> dict[str, Any]:
    """The search space, in the layout's words."""
    return {parameter_name(name): _config(entry) for name, entry in space.items()}


def space_entries(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The search space, from the layout's words; what has no scale of ours is left out."""
    found = {metaparameter_name(name): _entry(config) for name, config in configs.items()}
    return {name: entry for name, entry in found.items() if entry is not None}


def parameter_name(name: str) -> str:
    """What the layout calls a metaparameter."""
    return _PARAMETERS.get(name, name)


def metaparameter_name(name: str) -> str:
    """What the layout's parameter is called here."""
    return {theirs: ours for ours, theirs in _PARAMETERS.items()}.get(name, name)


def _config(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        return {"type": "DISCRETE", "feasible_points": [entry]}
    if entry["scale"] == "choice":
        return {"type": "DISCRETE", "feasible_points": list(entry["options"])}
    kind = {"type": "INTEGER", "scale": ""} if entry["scale"] == "integer" else {"type": "DOUBLE"}
    return {"scale": _SCALES.get(entry["scale"], ""), **kind, "min_value": entry["low"], "max_value": entry["high"]}


def _entry(config: Mapping[str, Any]) -> Any:
    points = config.get("feasible_points")
    if points:
        return points[0] if len(points) == 1 else {"scale": "choice", "options": list(points)}
    scales = {theirs: ours for ours, theirs in _SCALES.items()}
    scale = "integer" if config.get("type") == "INTEGER" else scales.get(config.get("scale", ""))
    if scale is None or not {"min_value", "max_value"} <= set(config):
        return None
    return {"scale": scale, "low": config["min_value"], "high": config["max_value"]}
