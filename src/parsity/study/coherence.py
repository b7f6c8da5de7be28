"""What keys must be to each other; each by itself is the model's matter. Any document may come, however mistaken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeGuard

from parsity.study.completing import Taken, taken
from parsity.study.keys import KEYS
from parsity.study.mistakes import ABSENT, Mistake
from parsity.study.names import closest
from parsity.study.ranges import LIMITS, numbers_in

LISTS = ("goals", "batch_sizes", "sparsities")


def incoherences(document: Mapping[str, Any]) -> Iterator[Mistake]:
    """What does not go together in a completed document."""
    for key in LISTS:
        if isinstance(document.get(key), list | tuple):
            yield from _twice((key,), document[key], KEYS[key].allowed)
    yield from _limit(document)
    space, names = document.get("space"), taken(document.get("workload"))
    if isinstance(space, Mapping):
        for name, entry in space.items():
            if isinstance(entry, Mapping) and isinstance(entry.get("options"), list | tuple):
                yield from _twice(("space", name, "options"), entry["options"], "a list of values, none twice")
        if names is not None:
            yield from _names(space, names, document["workload"])
            yield from _values(space, names)


def _twice(place: tuple[str, ...], values: Iterable[object], allowed: str) -> Iterator[Mistake]:
    seen: list[object] = []
    for index, value in enumerate(values):
        # 1 and 1.0 are the same number, and true is none.
        if not isinstance(value, bool) and value in seen:
            yield Mistake((*place, index), "there twice", value, allowed)
        seen.append(value)


def _limit(document: Mapping[str, Any]) -> Iterator[Mistake]:
    limit, interval = document.get("step_limit"), document.get("check_interval")
    if _whole(limit) and _whole(interval) and limit > 0 and interval > 0 and limit % interval:
        below, above = limit - limit % interval, limit + interval - limit % interval
        near = f"{below} or {above}" if below else str(above)
        yield Mistake(
            ("step_limit",), "not a multiple of check_interval", limit, f"multiples of {interval}, such as {near}"
        )


def _names(space: Mapping[str, Any], names: Taken, workload: object) -> Iterator[Mistake]:
    takers = workload if isinstance(workload, str) else "this optimiser with this schedule"
    everything = ", ".join(sorted(names.needed | names.optional))
    for name in sorted(names.needed - set(space)):
        yield Mistake(("space", name), f"missing, for {takers} needs it", ABSENT, _range_or_value(name))
    for name in space:
        if not names.more and name not in names.needed | names.optional:
            meant = closest(name, names.needed | names.optional)
            yield Mistake(("space", name), f"not a metaparameter that {takers} takes", ABSENT, everything, meant)


def _values(space: Mapping[str, Any], names: Taken) -> Iterator[Mistake]:
    for name in space:
        if name not in LIMITS or name not in names.needed | names.optional:
            continue
        limits = LIMITS[name]
        for place, value in numbers_in(space[name]):
            if isinstance(value, str):
                yield Mistake(("space", name, *place), "not a number", value, limits.allowed)
            elif _finite(value) and not limits.permit(value):
                yield Mistake(("space", name, *place), f"not possible for {name}", value, limits.allowed)
        scale = space[name].get("scale", "integer") if isinstance(space[name], Mapping) else "integer"
        if limits.whole and scale in ("log", "reverse-log", "linear"):
            yield Mistake(("space", name, "scale"), f"{name} is a whole number", scale, "integer")


def _range_or_value(name: str) -> str:
    return f"a range, options or a value, {LIMITS[name].allowed}" if name in LIMITS else "a range, options or a value"


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
