"""Engines: what computes losses, gradients and steps. One small contract, several ways to be fast."""

from parsity.engines.contract import Engine, Replica, Snapshot
from parsity.engines.plain import PlainEngine

__all__ = ["Engine", "PlainEngine", "Replica", "Snapshot"]
