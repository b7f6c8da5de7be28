"""Libraries that only some of what a study can do needs."""

from __future__ import annotations

import importlib
from types import ModuleType

from parsity.errors import UsageError


def needed(module: str, *, extra: str, to: str | None = None) -> ModuleType:
    """The library, or one line that says how to get it; ``to`` says what for, which is an export unless given."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        what = to or f"export to {extra}"
        raise UsageError(f"{what}: {error.name} is not installed; pip install 'parsity[{extra}]'") from error
