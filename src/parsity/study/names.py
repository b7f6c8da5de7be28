"""Names in a study file that lead to code: which are known, without importing what they lead to."""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Iterable, Mapping

import parsity.optimisation
from parsity.data import CATALOGUE

DATA = tuple(CATALOGUE)
OPTIMISERS = tuple(parsity.optimisation.OPTIMISERS)
SCHEDULES = tuple(parsity.optimisation.SCHEDULES)
# The parts that own these need torch, which reading a study file must not; a test holds them to be the same.
NETWORKS = ("simple-cnn", "resnet-8", "digits-cnn")
CRITERIA = ("snip", "magnitude", "random", "grasp", "synflow")
ENGINES = ("auto", "native", "traced", "plain")
TESTS = ("certified", "confident")

KINDS: Mapping[str, tuple[str, ...]] = {
    "data": DATA,
    "networks": NETWORKS,
    "optimisers": OPTIMISERS,
    "schedules": SCHEDULES,
    "criteria": CRITERIA,
}
"""The kinds that one's own code may extend, each with Parsity's own names."""


def mistaken(kind: str, name: str) -> str | None:
    """What is wrong with ``name`` as one of ``kind``; None where it is known or may be imported."""
    if name in KINDS[kind]:
        return None
    if ":" in name:
        return None if _is_import_path(name) else "not an import path"
    return None if name in _registered(kind) else "not known"


def known(kind: str) -> tuple[str, ...]:
    """Parsity's own names of ``kind`` and those that installed packages register."""
    return (*KINDS[kind], *_registered(kind))


def closest(name: str, names: Iterable[str]) -> str:
    """Which of ``names`` may have been meant; "" where that cannot be told."""
    close = difflib.get_close_matches(name.lower(), list(names), n=1)
    return close[0] if close else ""


def _registered(kind: str) -> tuple[str, ...]:
    return tuple(importlib.metadata.entry_points(group=f"parsity.{kind}").names)


def _is_import_path(name: str) -> bool:
    module, _, attribute = name.partition(":")
    return all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))
