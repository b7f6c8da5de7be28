"""The search space: one scale per metaparameter, mapping the unit interval to values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parsity.errors import UsageError
from parsity.metaparameters.sequences import Sequence, points

Value = float | int | str
Metaparameters = dict[str, Value]
"""The metaparameters of one trial, by name."""


@dataclass(frozen=True)
class Linear:
    """Evenly from ``low`` to ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_range(self, self.low < self.high, "low < high")

    def value(self, unit: float) -> float:
        """The value at ``unit`` in [0, 1)."""
        return self.low + (self.high - self.low) * unit


@dataclass(frozen=True)
class Log:
    """Evenly in log(value) from ``low`` to ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_range(self, 0 < self.low < self.high, "0 < low < high")

    def value(self, unit: float) -> float:
        """The value at ``unit`` in [0, 1)."""
        return _geometric(self.low, self.high, unit)


@dataclass(frozen=True)
class ReverseLog:
    """Evenly in log(1 - value): momentum's scale, dense near 1. As in the paper's program, 0 maps to ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_range(self, self.low < self.high < 1, "low < high < 1")

    def value(self, unit: float) -> float:
        """The value at ``unit`` in [0, 1)."""
        return 1 - _geometric(1 - self.high, 1 - self.low, unit)


@dataclass(frozen=True)
class Integer:
    """Evenly from ``low`` to ``high``, rounded down."""

    low: int
    high: int

    def __post_init__(self) -> None:
        _check_range(self, _whole(self.low) and _whole(self.high) and self.low < self.high, "whole numbers, low < high")

    def value(self, unit: float) -> int:
        """The value at ``unit`` in [0, 1)."""
        return math.floor(self.low + (self.high - self.low) * unit)


@dataclass(frozen=True)
class Choice:
    """One of ``options``, each with an equal share of the unit interval."""

    options: tuple[Value, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        if not self.options or len(set(self.options)) < len(self.options):
            raise UsageError(f"choice {list(self.options)}: needs at least one option, and none twice")

    def value(self, unit: float) -> Value:
        """The option whose share holds ``unit`` in [0, 1)."""
        return self.options[math.floor(unit * len(self.options))]


Scale = Linear | Log | ReverseLog | Integer | Choice
SCALES: dict[str, type[Linear | Log | ReverseLog | Integer]] = {
    "linear": Linear,
    "log": Log,
    "reverse-log": ReverseLog,
    "integer": Integer,
}


@dataclass(frozen=True)
class Space:
    """The metaparameters that are searched, in order, each with its scale; a fixed one is a `Choice` of one option.

    Fixed metaparameters take no dimension of the sequence, so fixing one leaves the others' points comparable.
    """

    scales: Mapping[str, Scale]
    sequence: Sequence = "sobol"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scales", dict(self.scales))

    @classmethod
    def from_spec(cls, spec: Mapping[str, Mapping[str, Any] | Value], *, sequence: Sequence = "sobol") -> Space:
        """Build a space from plain data: ``{"learning_rate": {"scale": "log", "low": 1e-4, "high": 1}}``.

        ``{"scale": "choice", "options": [...]}`` lists options; a bare value fixes the metaparameter.
        """
        return cls({name: _scale(name, entry) for name, entry in spec.items()}, sequence)

    def to_spec(self) -> dict[str, Any]:
        """The plain data that `from_spec` reads."""
        return {name: _spec(scale) for name, scale in self.scales.items()}

    def trial(self, number: int) -> Metaparameters:
        """The metaparameters of trial ``number``: 1, 2, 3, ...; the origin, point 0, is skipped."""
        return self.trials(number, 1)[0]

    def trials(self, first: int, count: int) -> list[Metaparameters]:
        """The metaparameters of ``count`` trials from number ``first`` on."""
        if first < 1:
            raise UsageError(f"trial number {first}: trials are numbered from 1")
        searched = [name for name, scale in self.scales.items() if not _fixed(scale)]
        block = points(len(searched), first, count, sequence=self.sequence) if searched else [()] * count
        return [self._values(dict(zip(searched, map(float, point), strict=True))) for point in block]

    def _values(self, units: Mapping[str, float]) -> Metaparameters:
        return {name: scale.value(units.get(name, 0.0)) for name, scale in self.scales.items()}


def _fixed(scale: Scale) -> bool:
    return isinstance(scale, Choice) and len(scale.options) == 1


def _geometric(start: float, end: float, unit: float) -> float:
    return math.exp(math.log(start) + (math.log(end) - math.log(start)) * unit)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_range(scale: Linear | Log | ReverseLog | Integer, possible: bool, needs: str) -> None:
    if not (possible and math.isfinite(scale.low) and math.isfinite(scale.high)):
        kind = next(kind for kind, cls in SCALES.items() if isinstance(scale, cls))
        raise UsageError(f"{kind} range from {scale.low} to {scale.high}: needs {needs}")


def _scale(name: str, entry: Mapping[str, Any] | Value) -> Scale:
    if not isinstance(entry, Mapping):
        return Choice((entry,))
    kind = entry.get("scale")
    given = set(entry) - {"scale"}
    try:
        if kind == "choice" and given == {"options"}:
            return Choice(tuple(entry["options"]))
        if kind in SCALES and given == {"low", "high"}:
            return SCALES[kind](entry["low"], entry["high"])
    except (UsageError, TypeError) as error:
        raise UsageError(f"{name}: {error}") from None
    if kind in SCALES or kind == "choice":
        keys = "options" if kind == "choice" else "low and high"
        raise UsageError(f"{name}: scale {kind!r} takes {keys}, found {', '.join(sorted(given)) or 'nothing'}")
    raise UsageError(f"{name}: scale {kind!r} is not one of {', '.join(SCALES)}, choice")


def _spec(scale: Scale) -> Any:
    if isinstance(scale, Choice):
        return scale.options[0] if _fixed(scale) else {"scale": "choice", "options": list(scale.options)}
    kind = next(kind for kind, cls in SCALES.items() if isinstance(scale, cls))
    return {"scale": kind, "low": scale.low, "high": scale.high}
