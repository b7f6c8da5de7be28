"""The native engine: networks of convolutions, linear layers, pooling and additions, run in C."""

from parsity.engines.native.engine import NativeEngine
from parsity.engines.native.library import library_digest, native_available, runnable

__all__ = ["NativeEngine", "library_digest", "native_available", "runnable"]
