"""Libraries that only some exports need."""

from __future__ import annotations

import importlib
from types import ModuleType

from parsity.errors import UsageError


def needed(module: str, *, extra: str) -> ModuleType:
    """The library, or one line that says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"export to {extra}: {error.name} is not installed; pip install 'parsity[{extra}]'") from error
