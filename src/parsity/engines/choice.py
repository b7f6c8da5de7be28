"""Which engine serves a network."""

from __future__ import annotations

from torch import nn

from parsity.data import Dataset
from parsity.engines.contract import Engine
from parsity.engines.plain import PlainEngine
from parsity.engines.traced import TracedEngine
from parsity.errors import UsageError

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (TracedEngine, PlainEngine)}
"""By name, fastest first."""


def make_engine(name: str, network: nn.Module, dataset: Dataset) -> Engine:
    """The engine called ``name`` for ``network``; "auto" takes the fastest that can run it."""
    if name not in ENGINES and name != "auto":
        raise UsageError(f"engine {name!r}: allowed are auto, {', '.join(ENGINES)}")
    return ENGINES["plain" if name == "auto" else name](network, dataset)
