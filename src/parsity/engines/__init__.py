"""Engines: what computes losses, gradients and steps. One small contract, several ways to be fast."""

from parsity.engines.arithmetic import arithmetic, stopwatch
from parsity.engines.calibration import Calibrator
from parsity.engines.choice import ENGINES, available_engines, make_engine
from parsity.engines.contract import Engine, Replica, Snapshot, UnsupportedNetworkError
from parsity.engines.native import NativeEngine
from parsity.engines.plain import PlainEngine
from parsity.engines.remembering import usual_memory
from parsity.engines.traced import TracedEngine, refuse_impure

__all__ = [
    "ENGINES",
    "Calibrator",
    "Engine",
    "NativeEngine",
    "PlainEngine",
    "Replica",
    "Snapshot",
    "TracedEngine",
    "UnsupportedNetworkError",
    "arithmetic",
    "available_engines",
    "make_engine",
    "refuse_impure",
    "stopwatch",
    "usual_memory",
]
