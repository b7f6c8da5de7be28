"""What calibrations on this machine have found, a small file for each: lost, they are made again."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

import parsity
from parsity.engines.choice import ENGINES
from parsity.engines.native import library_digest, runnable
from parsity.errors import ParsityError
from parsity.results import EngineChoice
from parsity.storage import processor
from parsity.whole_file import write_whole

logger = logging.getLogger(__name__)

FOLDER_VARIABLE = "PARSITY_ENGINES_DIR"


def usual_memory() -> Path:
    """Where this machine's choices are kept: $PARSITY_ENGINES_DIR, or beside the data in the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named).expanduser()
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".cache") / "parsity" / "engines"


def recall(folder: Path, facts: Mapping[str, Any]) -> EngineChoice | None:
    """What was found for a cell of these facts on this machine with this software."""
    everything = _everything(facts)
    try:
        found = json.loads(_path(folder, everything).read_text())
        if found["facts"] != everything or found["engine"] not in ENGINES:
            return None
        seconds = {str(name): float(one) for name, one in found["seconds"].items()}
        return EngineChoice(engine=found["engine"], how="remembered", seconds=seconds, images=int(found["images"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # not there, or no file of ours: measured anew


def remember(folder: Path, facts: Mapping[str, Any], choice: EngineChoice) -> None:
    """Keep it, where there is room; nothing depends on that."""
    everything = _everything(facts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"facts": everything, **asdict(replace(choice, how="remembered"))}, indent=1)
        write_whole(_path(folder, everything), text.encode())
    except (OSError, ParsityError) as error:
        logger.info("the choice of an engine is not remembered: %s", error)


def _path(folder: Path, everything: Mapping[str, Any]) -> Path:
    text = json.dumps(everything, sort_keys=True)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _everything(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {**facts, **_machine()}


@cache
def _machine() -> dict[str, Any]:
    """Which processor, and which software: with another of these, the fastest may be another."""
    return {
        "processor": processor(),
        "instruction sets": list(runnable()),
        "native": library_digest(),
        "parsity": parsity.__version__,
        "torch": str(torch.__version__),
    }
