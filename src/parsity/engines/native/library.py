"""The compiled library: finding it, choosing its instruction set, and its C structures' twins."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
from ctypes import POINTER, Structure, c_double, c_float, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
"""From the slowest to the fastest; a machine that runs one runs those before it."""

FINE = 0
NO_SUCH_IMAGE = 1


class Layer(Structure):
    """One layer; twin of ``struct layer`` in native.h."""

    _fields_: ClassVar[Any] = [
        *[(name, c_int32) for name in ("kind", "input", "other", "output")],
        *[(name, c_int32) for name in ("kernel_height", "kernel_width", "stride_height", "stride_width")],
        *[(name, c_int32) for name in ("top", "left", "front", "rectified", "pooled")],
        *[(name, c_int32) for name in ("full_height", "full_width", "unused")],
        *[(name, c_int64) for name in ("weights", "bias")],
    ]


class Shape(Structure):
    """One value's shape; twin of ``struct shape``."""

    _fields_: ClassVar[Any] = [(name, c_int32) for name in ("channels", "height", "width")]


class Source(Structure):
    """Pixels and labels; twin of ``struct source``."""

    _fields_: ClassVar[Any] = [
        *[("pixels", c_void_p), ("labels", c_void_p), ("count", c_int64)],
        *[("is_float", c_int32), ("identity", c_int32), ("scale", c_float)],
        *[("mean", c_void_p), ("std", c_void_p)],
    ]


class Update(Structure):
    """An optimiser; twin of ``struct rule`` in update.h."""

    _fields_: ClassVar[Any] = [("optimiser", c_int32), ("momentum", c_float), ("weight_decay", c_float)]


def native_available() -> bool:
    """Whether the native engine's library was built when Parsity was installed."""
    return _path("baseline") is not None


@cache
def load(instruction_set: str | None = None) -> ctypes.CDLL:
    """The library for ``instruction_set``, or for the best this machine has."""
    if instruction_set is None:
        instruction_set = runnable()[-1]
    path = _path(instruction_set)
    if path is None:
        raise FileNotFoundError(f"the native engine's library for {instruction_set} was not built")
    return _declared(ctypes.CDLL(str(path)))


@cache
def runnable() -> tuple[str, ...]:
    """The instruction sets that are built and that this processor has, the best last."""
    baseline = _path("baseline")
    if baseline is None:
        return ()
    best = ctypes.CDLL(str(baseline)).processor_level()
    return tuple(name for name in INSTRUCTION_SETS[: best + 1] if _path(name) is not None)


@cache
def library_digest() -> str:
    """The sha256 of the library that runs here; empty where there is none."""
    path = _path(runnable()[-1]) if runnable() else None
    return "" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()


def pointer(tensor: Tensor | None, dtype: torch.dtype) -> int | None:
    """Where a tensor's numbers lie, after a look at what C cannot see."""
    if tensor is None:
        return None
    if tensor.dtype != dtype or not tensor.is_contiguous() or tensor.device.type != "cpu":
        raise TypeError(f"expected a contiguous {dtype} tensor in memory, found {tensor.dtype} on {tensor.device}")
    return tensor.data_ptr()


def _path(instruction_set: str) -> Path | None:
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = Path(__file__).parent / f"_{instruction_set}{suffix}"
        if path.exists():
            return path
    return None


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    network: Any = c_void_p
    plan: Any = c_void_p
    source: Any = POINTER(Source)
    numbers: Any = c_void_p
    library.network_new.argtypes = [POINTER(Layer), c_int32, POINTER(Shape), c_int32, c_int64, c_int32]
    library.network_new.restype = network
    library.network_free.argtypes = [network]
    library.network_free.restype = None
    library.network_bytes.argtypes = [network]
    library.network_bytes.restype = c_int64
    library.plan_new.argtypes = [network, numbers]
    library.plan_new.restype = plan
    library.plan_free.argtypes = [plan]
    library.plan_free.restype = None
    library.plan_count.argtypes = [plan]
    library.plan_count.restype = c_int64
    library.plan_index.argtypes = [plan, numbers]
    library.plan_index.restype = None
    library.network_advance.argtypes = [
        *[network, plan, source, numbers, numbers, numbers, POINTER(Update), numbers],
        *[numbers, numbers, c_int64, numbers, numbers],
    ]
    library.network_gradient.argtypes = [network, plan, source, numbers, numbers, c_int64, numbers, POINTER(c_double)]
    library.network_margins.argtypes = [network, plan, source, numbers, numbers, c_int64, numbers]
    library.network_deviations.argtypes = [
        *[network, plan, source, numbers, numbers, numbers],
        *[numbers, c_int64, numbers, numbers],
    ]
    passes = (library.network_advance, library.network_gradient, library.network_deviations, library.network_margins)
    for function in passes:
        function.restype = c_int32
    return library
