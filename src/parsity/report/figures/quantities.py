"""What the axes of clouds are: a metaparameter on the scale it was searched on, and the steps a trial took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from parsity.analysis import effective_learning_rate
from parsity.metaparameters import Choice, Linear, Log, ReverseLog, Scale, Space
from parsity.results import CellResult, TrialResult

EFFECTIVE = "effective_learning_rate"
_LABELS = {EFFECTIVE: "lr / (1 - momentum)"}
_WIDE = 20.0


@dataclass(frozen=True)
class Quantity:
    """A number that every trial has, and its axis."""

    name: str
    scale: Scale

    @property
    def label(self) -> str:
        """What its axis is called."""
        return _LABELS.get(self.name, self.name.replace("_", " "))

    @property
    def is_rate(self) -> bool:
        """Whether it is a learning rate, for which theory has rules."""
        return self.name in ("learning_rate", EFFECTIVE)

    def place(self, trial: TrialResult) -> float:
        """Where a trial lies on the axis; NaN where it has no such value."""
        if self.name == EFFECTIVE:
            return effective_learning_rate(trial.metaparameters) or math.nan
        value = trial.metaparameters.get(self.name)
        if isinstance(self.scale, Choice):
            return float(self.scale.options.index(value)) if value in self.scale.options else math.nan
        if value is None or isinstance(value, str):
            return math.nan
        # Momentum's scale is even in the logarithm of what is missing to 1.
        return 1 - value if isinstance(self.scale, ReverseLog) else float(value)

    def prepare(self, axes: Axes, which: Literal["x", "y"], *, most: int) -> None:
        """Set the axis up: its scale, the whole range searched, and about ``most`` ticks."""
        axis = axes.xaxis if which == "x" else axes.yaxis
        scale = self.scale
        if isinstance(scale, Choice):
            axes.set(**{f"{which}lim": (-0.5, len(scale.options) - 0.5)})
            axis.set_major_locator(FixedLocator(list(range(len(scale.options)))))
            axis.set_major_formatter(FuncFormatter(lambda place, _: _option(scale, place)))
        elif isinstance(scale, Log | ReverseLog):
            ends = (scale.low, scale.high) if isinstance(scale, Log) else (1 - scale.low, 1 - scale.high)
            wider = (ends[1] / ends[0]) ** 0.06
            axes.set(**{f"{which}scale": "log", f"{which}lim": (ends[0] / wider, ends[1] * wider)})
            axis.set_major_locator(LogLocator(10, numticks=most))
            axis.set_minor_formatter(NullFormatter())
            if isinstance(scale, ReverseLog):
                axis.set_major_formatter(FuncFormatter(lambda place, _: f"{1 - place:.10g}"))
        else:
            wider = (scale.high - scale.low) * 0.06
            axes.set(**{f"{which}lim": (scale.low - wider, scale.high + wider)})
            axis.set_major_locator(MaxNLocator(most))


def quantities(cells: Iterable[CellResult], space: Space | None) -> list[Quantity]:
    """The metaparameters that were searched, in their order; without a ``space``, those that differ between trials."""
    trials = [trial for cell in cells for trial in cell.trials]
    if space is None:
        names = dict.fromkeys(name for trial in trials for name in trial.metaparameters)
        found = {name: _guessed(name, [trial.metaparameters.get(name) for trial in trials]) for name in names}
    else:
        found = dict(space.scales)
    return [
        Quantity(name, scale)
        for name, scale in found.items()
        if not (isinstance(scale, Choice) and len(scale.options) < 2)
    ]


def with_effective_rate(found: list[Quantity], cells: Iterable[CellResult]) -> list[Quantity]:
    """The same, and lr / (1 - momentum) where both are searched."""
    if not {"learning_rate", "momentum"} <= {one.name for one in found}:
        return found
    rates = [effective_learning_rate(trial.metaparameters) for cell in cells for trial in cell.trials]
    some = [rate for rate in rates if rate is not None and math.isfinite(rate) and rate > 0]
    if not some or min(some) == max(some):
        return found
    return [*found, Quantity(EFFECTIVE, Log(min(some), max(some)))]


def plane(found: list[Quantity]) -> tuple[Quantity, Quantity | None] | None:
    """The axes of a cloud: learning rate and momentum, or the first two searched, or one; None where none was."""
    if not found:
        return None
    by_name: Mapping[str, Quantity] = {one.name: one for one in found}
    first = by_name.get("learning_rate", found[0])
    others = [one for one in found if one is not first]
    return first, by_name.get("momentum", others[0]) if others else None


def _guessed(name: str, values: list[float | int | str | None]) -> Scale:
    """A scale for values whose search space is not known."""
    numbers = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    if len(set(numbers)) < 2 or any(isinstance(value, str) for value in values):
        return Choice(tuple(dict.fromkeys(value for value in values if value is not None)) or ("",))
    low, high = min(numbers), max(numbers)
    if name == "momentum" and high < 1:
        return ReverseLog(low, high)
    return Log(low, high) if low > 0 and high / low > _WIDE else Linear(low, high)


def _option(scale: Choice, place: float) -> str:
    index = round(place)
    return str(scale.options[index]) if 0 <= index < len(scale.options) else ""
