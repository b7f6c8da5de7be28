"""Import of a JSON export, or of the layout of Shallue et al. (2019), as a store that everything reads.

What was exported from here comes back as it was, with the same digest (`own`), and can be run on. From what others
published, outcomes are worked out as a race would have seen them (`others`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from parsity.errors import UsageError
from parsity.study.exporting.layout import ERROR, KEY
from parsity.study.exporting.others import import_others
from parsity.study.exporting.own import import_json, import_own
from parsity.study.exporting.published import Cell, read_json
from parsity.study.store import Store


def import_results(source: Path, path: Path, *, goals: Sequence[float] | None = None, measure: str = ERROR) -> Store:
    """Make a store at ``path`` of ``source``, and open it for reading.

    ``source`` is a file that ``parsity export --to json`` wrote, or a folder of one workload's data in the
    batch-science layout. Others' data needs ``goals``: values that the column ``measure`` is to come down to.
    """
    if path.exists():
        raise UsageError(f"{path}: there is something already")
    if source.is_file():
        _refuse_goals(source, goals, measure)
    cells = [] if source.is_file() else _find(source, goals, measure)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as temporary:
        part = Path(temporary, path.name)
        if not cells:
            import_json(source, part)
        elif KEY in cells[0].facts:
            import_own(cells, cells[0].facts[KEY], part)
        else:
            import_others(cells, part, sorted(map(float, goals or ())), measure)
        part.rename(path)
    return Store.open(path)


def _refuse_goals(source: Path, goals: Sequence[float] | None, measure: str) -> None:
    if goals is not None or measure != ERROR:
        raise UsageError(f"{source}: it was exported by Parsity, and has its own goals")


def _find(folder: Path, goals: Sequence[float] | None, measure: str) -> list[Cell]:
    cells = _cells(folder)
    own = [cell.facts[KEY] for cell in cells if KEY in cell.facts]
    if own and len(own) < len(cells):
        raise UsageError(f"{folder}: some of it was exported by Parsity and some was not")
    if own:
        _refuse_goals(folder, goals, measure)
    if any(one["digest"] != own[0]["digest"] for one in own):
        raise UsageError(f"{folder}: it was exported from more than one state of a study")
    if not own and not goals:
        raise UsageError(f"{folder}: name the goals: errors on the validation split to be reached, such as 0.01")
    return cells


def _cells(folder: Path) -> list[Cell]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such file or folder")
    cells = [Cell(place.parent, read_json(place)) for place in sorted(folder.rglob("study.json"))]
    if not cells:
        raise UsageError(f"{folder}: no study.json in it or in any folder inside")
    workloads = sorted({"/".join(cell.names.values()) for cell in cells})
    if len(workloads) > 1:
        raise UsageError(f"{folder}: it has several workloads ({', '.join(workloads)}); name the folder of one")
    keys = [cell.key for cell in cells]
    if len(set(keys)) < len(keys):
        raise UsageError(f"{folder}: one batch size comes twice")
    return sorted(cells, key=lambda cell: cell.key)
