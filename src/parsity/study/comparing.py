"""What changed between two specs of a study, and which changes a study that has begun can follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from parsity.errors import UsageError
from parsity.study.mistakes import shown
from parsity.study.spec import GROWING_NUMBERS, GROWING_SETS, StudySpec

if TYPE_CHECKING:
    from collections.abc import Iterator

Change = Literal["label", "growth", "shrink", "change"]


@dataclass(frozen=True)
class Difference:
    """One key that two specs have different.

    A new label and growth extend the study and keep what is done; what shrinks would lose results, and any other
    change would make the old ones mean something else.
    """

    key: str
    old: Any
    new: Any
    change: Change

    @property
    def allowed(self) -> bool:
        """Whether a study that has begun can follow it."""
        return self.change in ("label", "growth")

    def __str__(self) -> str:
        return f"{self.key}: {_written(self.old)} -> {_written(self.new)} ({self._remark})"

    @property
    def _remark(self) -> str:
        if self.change == "label":
            return "a label, free to change"
        if self.change == "change":
            return "cannot change once a study has begun"
        gained, lost = (
            ", ".join(_written(one) for one in these if one not in those) if isinstance(these, tuple) else ""
            for these, those in ((self.new, self.old), (self.old, self.new))
        )
        if self.change == "growth":
            return f"adds {gained}" if gained else "grows"
        return f"loses {lost}; may only grow" if lost else "may only grow"


def differences(old: StudySpec, new: StudySpec) -> list[Difference]:
    """Every key whose value differs: the name, what may grow, then the rest; the space by metaparameter."""
    return list(_differences(old, new))


def check_extension(old: StudySpec, new: StudySpec, source: str = "study") -> list[Difference]:
    """The differences, if all are allowed; otherwise a `UsageError` with a line for each one that is not."""
    found = differences(old, new)
    refused = [one for one in found if not one.allowed]
    if refused:
        raise UsageError("\n".join(f"{source}: {one}" for one in refused))
    return found


def _differences(old: StudySpec, new: StudySpec) -> Iterator[Difference]:
    if old.name != new.name:
        yield Difference("name", old.name, new.name, "label")
    before, after = old.facts(), new.facts()
    before_space, after_space = before.pop("space"), after.pop("space")
    for key in GROWING_SETS:
        was, is_ = getattr(old, key), getattr(new, key)
        if was != is_:
            yield Difference(key, was, is_, "growth" if set(was) < set(is_) else "shrink")
    for key in GROWING_NUMBERS:
        was, is_ = getattr(old, key), getattr(new, key)
        if was != is_:
            yield Difference(key, was, is_, "growth" if was < is_ else "shrink")
    for key in before:
        if before[key] != after[key]:
            yield Difference(key, before[key], after[key], "change")
    for name in dict.fromkeys([*before_space, *after_space]):
        was, is_ = before_space.get(name), after_space.get(name)
        if was != is_:
            yield Difference(f"space.{name}", was, is_, "change")


def _written(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, tuple):
        return ", ".join(map(_written, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dict) and "low" in value:
        return f"{value['scale']} {value['low']:g} to {value['high']:g}"
    if isinstance(value, dict):
        return f"one of {', '.join(map(_written, value['options']))}"
    return value if isinstance(value, str) else shown(value)
