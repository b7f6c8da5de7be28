"""The native engine: networks of convolutions, linear layers, pooling and additions, run in C."""

from parsity.engines.native.engine import NativeEngine
from parsity.engines.native.library import native_available
from parsity.engines.native.program import UnsupportedNetworkError

__all__ = ["NativeEngine", "UnsupportedNetworkError", "native_available"]
