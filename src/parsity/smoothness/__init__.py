"""Smoothness along training: the local Lipschitz constant of the gradient, the theory's constants, and curvature.

What is asked for and what was measured can be read without torch; what measures is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parsity.smoothness.spec import SmoothnessSpec
from parsity.smoothness.store import STORE, SmoothnessStore, read_smoothness

if TYPE_CHECKING:
    from parsity.smoothness.hessian import Hessian, curvature
    from parsity.smoothness.lipschitz import lipschitz_point
    from parsity.smoothness.measuring import Ended, Progress, measure
    from parsity.smoothness.noise import noise_point
    from parsity.smoothness.passes import full_gradient
    from parsity.smoothness.place import Place

_HOMES = {
    "Ended": "measuring",
    "Hessian": "hessian",
    "Place": "place",
    "Progress": "measuring",
    "curvature": "hessian",
    "full_gradient": "passes",
    "lipschitz_point": "lipschitz",
    "measure": "measuring",
    "noise_point": "noise",
}

__all__ = [
    "STORE",
    "Ended",
    "Hessian",
    "Place",
    "Progress",
    "SmoothnessSpec",
    "SmoothnessStore",
    "curvature",
    "full_gradient",
    "lipschitz_point",
    "measure",
    "noise_point",
    "read_smoothness",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
