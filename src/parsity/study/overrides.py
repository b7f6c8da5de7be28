"""``KEY=VALUE`` on the command line, laid over a study file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from parsity.errors import UsageError
from parsity.study.completing import completed, parts_of, usual_space
from parsity.study.ranges import usual_range
from parsity.training import USUAL_RANGES


def apply_overrides(document: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Return ``document`` with keys replaced, the last one winning; what it was is left alone.

    A key is dotted (``space.learning_rate.low=1e-3``), a value is TOML, and text that is not TOML is taken as it is
    (``engine=plain``). A part of a built-in workload can be replaced: ``workload.network=mine:make`` keeps the rest.
    """
    found = deepcopy(dict(document))
    for override in overrides:
        path, value = _parsed(override)
        if path[0] == "workload" and len(path) > 1 and parts_of(found.get("workload")):
            # The usual search space is that of the optimiser there will be, not of the one there was.
            rest = {key: one for key, one in completed(found).items() if key != "space" or key in found}
            found = {**rest, "workload": parts_of(found["workload"])}
        elif path[0] == "space" and len(path) > 2 and path[1] in USUAL_RANGES:
            space = found.setdefault("space", {})
            if isinstance(space, dict):
                usual = usual_space(found.get("workload")).get(path[1]) or usual_range(path[1])
                space.setdefault(path[1], usual)
        _put(found, path, value, override)
    return found


def _parsed(override: str) -> tuple[list[str], Any]:
    key, equals, text = override.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path):
        raise UsageError(f"{override!r}: not an override; allowed: KEY=VALUE, such as trials=32 or space.momentum=0.9")
    try:
        parsed = tomllib.loads(f"value = {text.strip()}")
    except ValueError:  # no TOML, or a number of thousands of digits
        return path, text.strip()
    # A line break within could bring in keys of its own; then it is text.
    return path, parsed["value"] if len(parsed) == 1 else text.strip()


def _put(document: dict[str, Any], path: list[str], value: Any, override: str) -> None:
    table: Any = document
    for depth, part in enumerate(path[:-1], start=1):
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            above = ".".join(path[:depth])
            raise UsageError(f"{override!r}: {above} is not a table; allowed: {above}=VALUE")
    table[path[-1]] = value
