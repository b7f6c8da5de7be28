"""What the verbs share that read a study: the folder they are given, and the specs and marks they show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.study import Overview, Study

NAMED = 4  # of what lies in a folder


def configure_reading(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a verb that reads one study."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the study's folder, as `parsity run` leaves it")
    parser.add_argument("--json", action="store_true", help="as JSON")


def open_study(folder: Path) -> Study:
    """The study in ``folder``; where there is none, the error says what is there instead."""
    from parsity.study import STORE, Study

    try:
        if (folder / STORE).is_file():
            return Study.open(folder)
        there = folder.exists()
    except OSError as error:  # a folder that may not be entered, a name that is too long
        raise UsageError(f"{folder}: cannot be read ({error.strerror})") from error
    if not there:
        raise UsageError(f"{folder}: there is no such folder; `parsity run` makes a study")
    if not folder.is_dir():
        hint = f"give its folder, {folder.parent}" if folder.name == STORE else "give the folder of a study"
        raise UsageError(f"{folder}: this is a file; {hint}")
    raise UsageError(f"{folder}: there is no study here, {_contents(folder, STORE)}; `parsity run` makes one")


def still_due(seen: Overview) -> dict[tuple[int, float], set[int]]:
    """By cell, the trials that a next run would begin with; nothing runs in a study that was imported from others."""
    return {
        (cell.batch_size, cell.sparsity): set() if "imported" in seen.spec else set(cell.due) - set(cell.set_aside)
        for cell in seen.cells
    }


def chosen(spec: Mapping[str, Any], key: str, option: str, value: float | None) -> list[float]:
    """All that ``spec`` has under ``key``, or the one of them that the option asks for."""
    from parsity.cli.tables import short

    every = sorted(spec[key])
    if value is not None and value not in every:
        raise UsageError(f"{option} {short(value)}: this study has {', '.join(map(short, every))}")
    return every if value is None else [value]


def _contents(folder: Path, store: str) -> str:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read ({error.strerror})") from error
    studies = [name for name in names if (folder / name / store).is_file()]
    if studies:
        return f"but in {_listed(studies)} below it"
    return f"but {_listed(names)}" if names else "nor anything else"


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
