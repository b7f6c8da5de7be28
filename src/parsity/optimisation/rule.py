"""A trial's rule: its optimiser, schedule and learning rate, made from its metaparameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from parsity.errors import UsageError
from parsity.extensions import resolve
from parsity.optimisation.optimisers import OPTIMISERS, Optimiser
from parsity.optimisation.schedules import SCHEDULES, Schedule


@dataclass(frozen=True)
class Rule:
    """How weights follow gradients in one trial."""

    optimiser: Optimiser
    schedule: Schedule
    learning_rate: float

    def rate(self, step: int) -> float:
        """The learning rate at ``step``, counted from 0."""
        return self.learning_rate * self.schedule(step)


def make_rule(optimiser: str, schedule: str, metaparameters: Mapping[str, Any]) -> Rule:
    """Hand each metaparameter to whoever takes it: ``learning_rate``, the optimiser or the schedule.

    ``optimiser`` and ``schedule`` are built-in names, import paths or entry points.
    """
    needed, optional = metaparameter_names(optimiser, schedule)
    missing, unknown = needed - set(metaparameters), set(metaparameters) - needed - optional
    if missing or unknown:
        wrong = [f"{name} is missing" for name in sorted(missing)]
        wrong += [f"{name} is not taken (allowed: {', '.join(sorted(needed | optional))})" for name in sorted(unknown)]
        raise UsageError(f"{optimiser} with {schedule} schedule: {'; '.join(wrong)}")

    def build(factory: Callable[..., Any]) -> Any:
        taken = inspect.signature(factory).parameters
        return factory(**{name: value for name, value in metaparameters.items() if name in taken})

    return Rule(
        build(_factory("optimisers", optimiser)),
        build(_factory("schedules", schedule)),
        float(metaparameters["learning_rate"]),
    )


def metaparameter_names(optimiser: str, schedule: str) -> tuple[set[str], set[str]]:
    """The metaparameters a trial needs, and those it may have besides."""
    needed: set[str] = {"learning_rate"}
    optional: set[str] = set()
    for factory in (_factory("optimisers", optimiser), _factory("schedules", schedule)):
        for name, parameter in inspect.signature(factory).parameters.items():
            (needed if parameter.default is inspect.Parameter.empty else optional).add(name)
    return needed, optional


def _factory(kind: str, name: str) -> Callable[..., Any]:
    factory = resolve(kind, name, OPTIMISERS if kind == "optimisers" else SCHEDULES)
    if not callable(factory):
        raise UsageError(f"{name}: expected a class or function, found {type(factory).__name__}")
    return cast("Callable[..., Any]", factory)
