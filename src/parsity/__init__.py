"""Parsity: steps-to-result under data parallelism and sparsity, measured exactly and cheaply.

    from parsity import race
    print(race("digits", batch_size=64, sparsity=0.9, trials=16).steps_to_result())

Public names are imported when they are first used, so that ``import parsity`` and the command line need no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from parsity.data import Dataset as Dataset
    from parsity.metaparameters import Space as Space
    from parsity.pruning import prune as prune
    from parsity.racing import race as race
    from parsity.results import CellResult as CellResult
    from parsity.study import Study as Study
    from parsity.training import Workload as Workload
    from parsity.training import workload as workload

_HOMES = {
    "CellResult": "parsity.results",
    "Dataset": "parsity.data",
    "Space": "parsity.metaparameters",
    "Study": "parsity.study",
    "Workload": "parsity.training",
    "prune": "parsity.pruning",
    "race": "parsity.racing",
    "workload": "parsity.training",
}

__all__ = ["CellResult", "Dataset", "Space", "Study", "Workload", "__version__", "prune", "race", "workload"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found
