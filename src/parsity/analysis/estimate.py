"""An estimate: a number, its 95 % interval, and how many measurements it rests on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Source = Literal["trials", "scatter"]
LEVEL = 0.95
TAIL = (1 - LEVEL) / 2


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """``value`` with its 95 % interval [``low``, ``high``], from ``n`` measurements.

    A side that is None is open: what was measured does not bound it. ``open_because`` says why, and ``patience`` names
    the patience that would close it, where patience is what is missing. A ``value`` of None cannot be told at all.

    An interval is from resampling ``trials``, or from the ``scatter`` of batch sizes about a curve. The latter takes no
    cloud of complete trials, so a race of patience 1 gives it; it shows where the curve's form misfits, and cannot see
    luck that all batch sizes share.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    open_because: str = ""
    patience: float | None = None
    source: Source = "trials"

    @property
    def closed(self) -> bool:
        """Whether both sides are bounded."""
        return self.low is not None and self.high is not None

    def above(self, threshold: float) -> bool:
        """Whether the whole interval lies above ``threshold``."""
        return self.low is not None and self.low > threshold

    def below(self, threshold: float) -> bool:
        """Whether the whole interval lies below ``threshold``."""
        return self.high is not None and self.high < threshold

    def covers(self, truth: float) -> bool:
        """Whether ``truth`` is in the interval; an open side excludes nothing."""
        return not self.above(truth) and not self.below(truth)

    def scaled(self, factor: float) -> Estimate:
        """The same times a positive number that is known."""
        value, low, high = (None if x is None else x * factor for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)

    def or_else(self, scatter: Estimate) -> Estimate:
        """This where its interval is closed, else ``scatter`` where that one is."""
        return scatter if scatter.closed and not self.closed else self

    def or_wider(self, scatter: Estimate) -> Estimate:
        """The wider of two intervals of a positive number, a closed one before an open one."""
        if not (self.closed and scatter.closed):
            return self.or_else(scatter)
        return max(self, scatter, key=Estimate._spread)

    def _spread(self) -> float:
        return math.inf if not self.low or self.high is None else self.high / self.low


def unknown(n: int, why: str) -> Estimate:
    """What cannot be told from ``n`` measurements."""
    return Estimate(value=None, low=None, high=None, n=n, open_because=why)


@dataclass(frozen=True, eq=False)
class Draws:
    """What other searches of the same kind might have given, as drawn by resampling, and which sides are not bounded.

    ``values`` are logarithms wherever the quantity is positive; they are filled in by the tail's model beyond what was
    seen, so a side that leans on it by more than the interval's level is marked as open and never shown.
    """

    values: Floats
    open_low: bool = False
    open_high: bool = False
    why: str = ""
    patience: float | None = None

    def minus(self, other: Draws) -> Draws:
        """The difference, draw by draw: resampled together, they stay paired."""
        return Draws(
            self.values - other.values,
            self.open_low or other.open_high,
            self.open_high or other.open_low,
            self.why or other.why,
            _larger(self.patience, other.patience),
        )

    def estimate(self, value: float | None, *, n: int, undo: Callable[[float], float] = math.exp) -> Estimate:
        """``value`` with the 95 % interval of the draws; ``undo`` leads from the draws' units back."""
        low, high = interval(self.values)
        found = Estimate(
            value=value,
            low=None if self.open_low or not math.isfinite(low) else undo(low),
            high=None if self.open_high or not math.isfinite(high) else undo(high),
            n=n,
        )
        if found.closed:
            return found
        why = self.why or "the batch sizes measured do not bound it"
        return Estimate(value=value, low=found.low, high=found.high, n=n, open_because=why, patience=self.patience)


def combined(values: Floats, parts: list[tuple[Draws, float]]) -> Draws:
    """Draws of something that rises with those ``parts`` whose influence is positive, and falls with the others."""
    open_low = any((part.open_low and way > 0) or (part.open_high and way < 0) for part, way in parts)
    open_high = any((part.open_high and way > 0) or (part.open_low and way < 0) for part, way in parts)
    open_parts = [part for part, way in parts if way and (part.open_low or part.open_high)]
    patience = None
    for part in open_parts:
        patience = _larger(patience, part.patience)
    why = next((part.why for part in open_parts), "")
    return Draws(values, open_low, open_high, why, patience)


def interval(values: Floats) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles; (-inf, inf) where there is nothing to take them from."""
    if not len(values) or np.isnan(values).any():
        return -math.inf, math.inf
    # With infinities among the draws, interpolating between neighbours would give NaN.
    low = np.quantile(values, TAIL, method="lower")
    high = np.quantile(values, 1 - TAIL, method="higher")
    return float(low), float(high)


def plain(value: Any) -> Any:
    """Any tree of this package's values as plain data for JSON: "inf" for what is infinite, as in study files."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def _larger(one: float | None, other: float | None) -> float | None:
    return max((x for x in (one, other) if x is not None), default=None)
