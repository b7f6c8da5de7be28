"""Seconds per training step with W synchronous workers, as plain values that a file can hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from parsity.errors import UsageError
from parsity.whole_file import write_whole

FORMAT = "parsity-step-times-1"


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """What one step costs when each of ``workers`` ranks takes ``slice_size`` images of the global batch.

    Seconds are medians over ``steps`` steps, of the slowest rank; ``compute`` is gradient and update, ``exchange`` the
    averaging of gradients, waiting included.
    """

    slice_size: int
    """b: images per worker and step; the global batch is W x b."""
    workers: int
    sparsity: float
    compute: float
    exchange: float
    low: float
    high: float
    """The quartiles of the whole step."""
    bytes_sent: int
    """What a rank hands over to be averaged in a step."""
    steps: int

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.compute + self.exchange

    @property
    def batch_size(self) -> int:
        """The global batch, W x b."""
        return self.workers * self.slice_size


@dataclass(frozen=True, kw_only=True)
class StepTimes:
    """The rows measured for one workload on one machine."""

    workload: Mapping[str, str]
    """``data``, ``network``, ``optimiser``, ``schedule``."""
    engine: str
    machine: Mapping[str, Any]
    """The processor, its cores, the versions of what computed: provenance."""
    parameters: int
    rows: tuple[StepTime, ...] = field(default=())

    def write(self, path: Path) -> None:
        """Keep them as strict JSON, whole or not at all."""
        tree = {"format": FORMAT, **asdict(self)}
        write_whole(path, (json.dumps(tree, indent=1, allow_nan=False) + "\n").encode())


def read_step_times(path: Path) -> StepTimes:
    """What ``StepTimes.write`` wrote; anything else is refused with what is wrong."""
    try:
        tree = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise UsageError(f"{path}: not a file of step times; `parsity scale --output PATH` writes one ({FORMAT})")
    try:
        rows = tuple(_row(row) for row in _sequence(tree["rows"]))
        return StepTimes(
            workload=dict(tree["workload"]),
            engine=str(tree["engine"]),
            machine=dict(tree["machine"]),
            parameters=int(tree["parameters"]),
            rows=rows,
        )
    except KeyError as error:
        raise UsageError(f"{path}: {error.args[0]!r} is missing") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def _sequence(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"'rows' must be a list, not {type(value).__name__}")
    return value


def _row(row: Mapping[str, Any]) -> StepTime:
    found = {name.name: row[name.name] for name in fields(StepTime)}
    for name, number in found.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number) or number < 0:
            raise ValueError(f"a row's {name!r} is {number!r}; allowed are numbers from 0 up")
    for name in ("slice_size", "workers", "steps"):
        if found[name] != int(found[name]) or found[name] < 1:
            raise ValueError(f"a row's {name!r} is {found[name]!r}; allowed are whole numbers from 1 up")
        found[name] = int(found[name])
    return StepTime(**found)
