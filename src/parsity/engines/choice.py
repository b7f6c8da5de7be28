"""Which engine serves a network."""

from __future__ import annotations

import logging
from functools import cache

import torch
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


def make_engine(name: str, network: nn.Module, dataset: Dataset, *, device: str = "cpu") -> Engine:
    """The engine called ``name`` for ``network``; "auto" is the fastest that can run it here.

    ``device`` is "cpu", "cuda", "cuda:1" or "auto", a graphics card where there is one.

    The order was measured (`docs/performance.md`) and is not measured anew, so that "auto" means the same engine
    wherever the same software is installed.
    """
    if name != "auto" and name not in ENGINES:
        raise UsageError(f"engine {name!r}: allowed are auto, {', '.join(ENGINES)}")
    place = _device(device)
    if place.type != "cpu":
        return _on_device(name, network, dataset, place)
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


def _on_device(name: str, network: nn.Module, dataset: Dataset, device: torch.device) -> Engine:
    if name == NativeEngine.name:
        raise UsageError(f"engine {name!r}: its kernels are for the CPU, and the device is {device}")
    if name in ("auto", TracedEngine.name):
        try:
            return TracedEngine(network, dataset, device)
        except UnsupportedNetworkError:
            if name != "auto":
                raise
    return PlainEngine(network, dataset, device)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        raise UsageError(f"device {name!r}: torch finds {torch.cuda.device_count()} graphics cards here; allowed: cpu")
    return device


@cache
def _say_once(line: str) -> None:
    logger.info("%s", line)
