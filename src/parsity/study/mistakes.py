"""What is wrong with a study file: every mistake at once, one line each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parsity.errors import UsageError
from parsity.study.keys import KEYS
from parsity.study.names import closest
from parsity.training import USUAL_RANGES

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ABSENT = object()
"""Stands for what was found where nothing was."""

LONGEST = 60  # characters of a value in a message

WRONG = {
    "int_type": "not a whole number",
    "float_type": "not a number",
    "string_pattern_mismatch": "not known",
    "string_type": "not text",
    "tuple_type": "not a list",
    "dict_type": "not a table",
    "model_type": "not a table",
    "model_attributes_type": "not a table",
    "finite_number": "not finite",
    "greater_than_equal": "too small",
    "less_than": "too large",
    "less_than_equal": "too large",
    "too_short": "empty",
    "missing": "missing",
}
# What people call things elsewhere, and what they are called here.
ALIASES = {
    "lr": "space.learning_rate",
    "model": "workload.network",
    "dataset": "workload.data",
    "optimizer": "workload.optimiser",
    "batch": "batch_sizes",
    "sparsity": "sparsities",
    "target": "goals",
    "budget": "trials",
    "max_steps": "step_limit",
    "workers": "threads",
}


@dataclass(frozen=True)
class Mistake:
    """One thing wrong at one key."""

    place: tuple[str | int, ...]
    wrong: str
    found: object
    allowed: str
    meant: str = ""

    def line(self, source: str) -> str:
        """The line that tells it."""
        remarks = [] if self.found is ABSENT else [f"found {shown(self.found)}"]
        remarks += [f"did you mean {self.meant}?"] if self.meant else []
        remark = f" ({'; '.join(remarks)})" if remarks else ""
        return f"{source}: {dotted(self.place)}: {self.wrong}{remark}; allowed: {self.allowed}"


def refuse(mistakes: Iterable[Mistake], source: str) -> None:
    """Raise one `UsageError` with a line for each mistake, if there are any."""
    found = sorted(mistakes, key=_rank)
    # A workload that is not known leaves others missing: that is one mistake, not five.
    if any(one.place[0] == "workload" for one in found):
        found = [one for one in found if one.place[0] == "workload" or one.wrong != "missing"]
    if found:
        raise UsageError("\n".join(dict.fromkeys(one.line(source) for one in found)))


def from_pydantic(errors: Iterable[ErrorDetails]) -> Iterator[Mistake]:
    """What a validation found, in our words."""
    for error in errors:
        place, kind, value = _untagged(error["loc"]), error["type"], error["input"]
        if kind == "too_short" and value:
            continue  # what was in the list has been refused one by one
        if kind == "extra_forbidden":
            yield Mistake(place, "no such key", ABSENT, siblings(place), _meant(place))
        elif kind == "missing":
            yield Mistake(place, "missing", ABSENT, allowed(place))
        elif kind == "literal_error":
            options = str(error["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
            yield Mistake(place, "not known", value, options, closest(str(value), options.split(", ")))
        else:
            wrong = WRONG.get(kind, error["msg"].removeprefix("Value error, "))
            if kind == "float_type" and isinstance(value, int) and not isinstance(value, bool):
                wrong = "too large"
            more = error.get("ctx", {})
            yield Mistake(place, wrong, value, more.get("allowed") or allowed(place), more.get("meant", ""))


def allowed(place: tuple[str | int, ...]) -> str:
    """What is allowed at ``place``."""
    if place[0] == "space" and len(place) > 1:
        return {
            "scale": "log, reverse-log, linear, integer, choice",
            "low": "a finite number, below high",
            "high": "a finite number, above low",
            "options": "a list of numbers or texts, none twice",
        }.get(str(place[2]) if len(place) > 2 else "", "scale, low and high; options; or a fixed number or text")
    words = [str(part) for part in place if not isinstance(part, int)]
    return KEYS[".".join(words)].allowed


def siblings(place: tuple[str | int, ...]) -> str:
    """The keys there are beside ``place``."""
    if place[0] == "space":
        return "scale, low and high; or options"
    parent = ".".join(map(str, place[:-1]))
    names = [name.rpartition(".") for name in KEYS]
    return ", ".join(name for above, _, name in names if above == parent)


def dotted(place: tuple[str | int, ...]) -> str:
    """The way to a key as one writes it: ``space.learning_rate.low``, ``goals[1]`` (counted from 0)."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    return text if text.isprintable() else repr(text)


def shown(value: object) -> str:
    """A value as a study file has it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, Mapping):
        text = f"{{{', '.join(f'{key} = {shown(one)}' for key, one in value.items())}}}" if value else "an empty table"
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(map(shown, value))}]"
    elif isinstance(value, str):
        text = '"' + value.encode("unicode_escape").decode() + '"' if not value.isprintable() else f'"{value}"'
    else:
        text = str(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of more than 30 digits"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _untagged(place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place without what pydantic puts in to say which form of a value it took."""
    tag = {"workload": 1, "space": 2}.get(str(place[0]), len(place))
    return (*place[:tag], *place[tag + 1 :])


def _meant(place: tuple[str | int, ...]) -> str:
    name = str(place[-1]).lower().replace("-", "_")
    known = {full.rpartition(".")[2]: full for full in KEYS} | {one: f"space.{one}" for one in USUAL_RANGES} | ALIASES
    if place[0] == "space":
        known = {one: one for one in ("scale", "low", "high", "options")}
    return known.get(closest(name, known), "")


def _rank(mistake: Mistake) -> tuple[int, tuple[str, ...]]:
    names = [name for name in KEYS if "." not in name]
    first = str(mistake.place[0])
    order = names.index(first) if first in names else len(names)
    # Numbers among the parts are list positions; padded, they sort as numbers.
    return order, tuple(f"{part:09}" if isinstance(part, int) else part for part in mistake.place)
