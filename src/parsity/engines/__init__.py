"""Engines: what computes losses, gradients and steps. One small contract, several ways to be fast."""

from parsity.engines.choice import ENGINES, make_engine
from parsity.engines.contract import Engine, Replica, Snapshot
from parsity.engines.plain import PlainEngine
from parsity.engines.traced import TracedEngine

__all__ = ["ENGINES", "Engine", "PlainEngine", "Replica", "Snapshot", "TracedEngine", "make_engine"]
