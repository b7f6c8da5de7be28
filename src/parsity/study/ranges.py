"""The search space of a study file: for each metaparameter a range, a list of options, or a fixed value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from parsity.errors import UsageError
from parsity.metaparameters import Space
from parsity.training import USUAL_RANGES

STRICT = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


def _value(value: object) -> float | int | str:
    if isinstance(value, bool) or not isinstance(value, float | int | str):
        raise ValueError("neither a number nor text")  # pydantic collects these
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    return value


Value = Annotated[float | int | str, PlainValidator(_value), WithJsonSchema({"type": ["number", "string"]})]


class Range(BaseModel):
    """From ``low`` to ``high``, evenly on a scale."""

    model_config = STRICT

    scale: Literal["log", "reverse-log", "linear", "integer"] = Field(
        description="log: evenly in log(value); reverse-log: evenly in log(1 - value), for momentum; linear; "
        "integer: linear, rounded down."
    )
    low: float = Field(description="The least value.")
    high: float = Field(description="The greatest value.")

    @model_validator(mode="after")
    def _possible(self) -> Range:
        try:
            Space.from_spec({"": {"scale": self.scale, **self.ends()}})
        except UsageError as error:
            needs = str(error).rpartition("needs ")[2]
            raise PydanticCustomError("range", "an impossible range", {"allowed": needs}) from None
        return self

    def ends(self) -> dict[str, Any]:
        """Low and high; whole numbers where the scale is one of them."""
        whole = self.scale == "integer" and self.low.is_integer() and self.high.is_integer()
        return {"low": int(self.low), "high": int(self.high)} if whole else {"low": self.low, "high": self.high}


class Options(BaseModel):
    """One of a list, each as often as the others."""

    model_config = STRICT

    scale: Literal["choice"] = "choice"
    options: Annotated[tuple[Value, ...], Field(strict=False, min_length=1, description="The values to choose from.")]


def _kind(entry: object) -> str:
    if isinstance(entry, Mapping):
        return "<options>" if "options" in entry or entry.get("scale") == "choice" else "<range>"
    return "<options>" if isinstance(entry, Options) else "<range>" if isinstance(entry, Range) else "<fixed>"


Entry = Annotated[
    Annotated[Range, Tag("<range>")] | Annotated[Options, Tag("<options>")] | Annotated[Value, Tag("<fixed>")],
    Discriminator(_kind),
]


@dataclass(frozen=True)
class Limits:
    """What a built-in optimiser or schedule can do with a metaparameter."""

    allowed: str
    least: float = -math.inf
    greatest: float = math.inf
    open_below: bool = False
    open_above: bool = False
    whole: bool = False

    def permit(self, value: float) -> bool:
        """Whether ``value`` is possible."""
        return (
            (value > self.least if self.open_below else value >= self.least)
            and (value < self.greatest if self.open_above else value <= self.greatest)
            and (not self.whole or float(value).is_integer())
        )


_STEPS = Limits("whole numbers of at least 1, scale integer", least=1, whole=True)
_FACTOR = Limits("above 0, at most 1", least=0, greatest=1, open_below=True)
LIMITS = {
    "learning_rate": Limits("above 0", least=0, open_below=True),
    "momentum": Limits("0 <= momentum < 1", least=0, greatest=1, open_above=True),
    "decay_steps": _STEPS,
    "end_learning_rate_factor": Limits("from 0 to 1", least=0, greatest=1),
    "weight_decay": Limits("at least 0", least=0),
    "drop_interval": _STEPS,
    "drop_factor": _FACTOR,
    "warm_up_steps": _STEPS,
}


def numbers_in(entry: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """The values an entry of a study file names, each with its place within; whatever the entry is."""
    if not isinstance(entry, Mapping):
        yield (), entry
    elif isinstance(entry.get("options"), list | tuple):
        yield from ((("options", index), value) for index, value in enumerate(entry["options"]))
    else:
        yield from (((end,), entry[end]) for end in ("low", "high") if end in entry)


def ordered(space: Mapping[str, Any]) -> dict[str, Any]:
    """The same entries, the usual metaparameters first and then by name: the dimensions of the sequence in order."""
    usual = list(USUAL_RANGES)
    return dict(sorted(space.items(), key=lambda one: (usual.index(one[0]) if one[0] in usual else len(usual), one[0])))


def plain(name: str, entry: Range | Options | float | int | str) -> Any:
    """An entry as `Space.from_spec` reads it, with one way to write each number."""
    if isinstance(entry, Range):
        return {"scale": entry.scale, **entry.ends()}
    if isinstance(entry, Options):
        options = [_number(name, option) for option in entry.options]
        return options[0] if len(options) == 1 else {"scale": "choice", "options": options}
    return _number(name, entry)


def usual_range(name: str) -> Any:
    """The paper's range of a metaparameter as a study file has it."""
    return Space({name: USUAL_RANGES[name]}).to_spec()[name]


def _number(name: str, value: float | int | str) -> float | int | str:
    if name not in LIMITS or isinstance(value, str):
        return value
    return int(value) if LIMITS[name].whole and float(value).is_integer() else float(value)
