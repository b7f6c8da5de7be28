"""The native engine's C, built where there is a compiler; without one the install succeeds and Parsity runs without."""

from __future__ import annotations

import platform
from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/parsity/engines/native")
SOURCES = sorted(str(path) for path in (NATIVE / "source").glob("*.c"))
HEADERS = sorted(str(path) for path in (NATIVE / "source").glob("*.h"))

# One library from the same source for each instruction set; which of them to load is decided at run time.
INSTRUCTION_SETS = {"baseline": []}
if platform.machine() in ("x86_64", "AMD64"):
    INSTRUCTION_SETS["avx2"] = ["-mavx2", "-mfma"]
    INSTRUCTION_SETS["avx512"] = [
        *("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512")
    ]

setup(
    ext_modules=[
        Extension(
            f"parsity.engines.native._{name}",
            SOURCES,
            depends=HEADERS,
            extra_compile_args=["-O3", "-std=gnu11", "-ffp-contract=fast", "-Wno-psabi", *flags],
            optional=True,
        )
        for name, flags in INSTRUCTION_SETS.items()
    ]
)
