"""Which engine serves a network."""

from __future__ import annotations

import logging
from functools import cache

from torch import nn

from parsity.data import Dataset
from parsity.engines.contract import Engine, UnsupportedNetworkError
from parsity.engines.native import NativeEngine, native_available
from parsity.engines.plain import PlainEngine
from parsity.engines.traced import TracedEngine
from parsity.errors import UsageError

logger = logging.getLogger(__name__)

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (NativeEngine, TracedEngine, PlainEngine)}
"""By name, fastest first."""


def available_engines() -> dict[str, type[Engine]]:
    """Those that can run on this machine, fastest first."""
    return {name: engine for name, engine in ENGINES.items() if name != NativeEngine.name or native_available()}


def make_engine(name: str, network: nn.Module, dataset: Dataset) -> Engine:
    """The engine called ``name`` for ``network``; "auto" is the fastest that can run it here.

    The order was measured (`docs/performance.md`) and is not measured anew, so that "auto" means the same engine
    wherever the same software is installed.
    """
    if name != "auto" and name not in ENGINES:
        raise UsageError(f"engine {name!r}: allowed are auto, {', '.join(ENGINES)}")
    if name != "auto" and name not in available_engines():
        raise UsageError(f"engine {name!r}: its kernels are not built here; install Parsity where a C compiler is")
    if name != "auto":
        return ENGINES[name](network, dataset)
    if not native_available():
        _say_once("the native kernels are not built here (no C compiler at installation): using slower engines")
    for engine in available_engines().values():
        try:
            return engine(network, dataset)
        except UnsupportedNetworkError as error:
            _say_once(f"{error}: not for the {engine.name} engine, trying the next")
    raise AssertionError("the plain engine runs everything")


@cache
def _say_once(line: str) -> None:
    logger.info("%s", line)
