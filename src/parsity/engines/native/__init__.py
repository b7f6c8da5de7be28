"""The native engine: networks of convolutions, linear layers, pooling and additions, run in C."""

from parsity.engines.native.engine import NativeEngine
from parsity.engines.native.library import native_available

__all__ = ["NativeEngine", "native_available"]
