"""Reading the files of the batch-science layout; whatever is wrong with one is said with its name."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsity.errors import UsageError
from parsity.study.exporting.layout import ERROR, LOSS, STEP

Rows = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Cell:
    """One folder with a study.json, and what that says."""

    folder: Path
    facts: Mapping[str, Any]

    @property
    def key(self) -> tuple[int, float]:
        """Batch size and sparsity; data without a sparsity is dense."""
        with legible(self.folder / "study.json"):
            return int(self.facts["batch_size"]), float(self.facts.get("sparsity", self._sparsity_of_folder()))

    @property
    def names(self) -> dict[str, str]:
        """Dataset, model and optimizer."""
        with legible(self.folder / "study.json"):
            return {name: str(self.facts[name]) for name in ("dataset", "model", "optimizer")}

    def trials(self) -> Iterator[tuple[dict[str, Any], Rows, Path]]:
        """Each trial's metadata and measurements, and its folder, by number."""
        folders = [place for place in self.folder.iterdir() if place.is_dir() and place.name.isdecimal()]
        for folder in sorted(folders, key=lambda place: int(place.name)):
            measurements = folder / "measurements.csv"
            with legible(measurements), measurements.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
                rows.sort(key=lambda row: int(row[STEP]))
            yield read_json(folder / "metadata.json"), rows, folder

    def _sparsity_of_folder(self) -> float:
        found = [re.fullmatch(r"sparsity_([\d.]+)", part) for part in self.folder.parts]
        return next((float(match[1]) for match in reversed(found) if match), 0.0)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file."""
    with legible(path):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise TypeError("it is no object")
        return found


def number(text: str | None) -> float | None:
    """A measured value, where there is one."""
    return float(text) if text else None


def log_entries(rows: Rows) -> Iterator[tuple[int, float, float]]:
    """(step, training loss, validation error) of the measurements that have both."""
    for row in rows:
        loss, error = number(row.get(LOSS)), number(row.get(ERROR))
        if loss is not None and error is not None:
            yield int(row[STEP]), loss, error


@contextmanager
def legible(path: Path) -> Iterator[None]:
    """Say which file it was that could not be understood."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except KeyError as error:
        raise UsageError(f"{path}: it has no {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path}: it is not as the layout has it: {error}") from error
