"""A study's specification: everything that decides its numbers - validated, frozen, with an identity."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from parsity.errors import UsageError
from parsity.extensions import resolve
from parsity.metaparameters import Space
from parsity.study.coherence import incoherences
from parsity.study.completing import PARTS, completed
from parsity.study.fields import (
    BatchSizes,
    Criterion,
    Device,
    Fractions,
    Ingredients,
    Line,
    Patience,
    WorkloadChoice,
)
from parsity.study.keys import LARGEST_SEED, MOST_RANKS, MOST_STEPS, MOST_THREADS, MOST_TRIALS, key
from parsity.study.mistakes import ABSENT, Mistake, from_pydantic, refuse
from parsity.study.names import KINDS
from parsity.study.ranges import STRICT, Entry, ordered, plain
from parsity.training import WORKLOADS, Workload


class StudySpec(BaseModel):
    """What a study measures: a workload, its grid, its budget of trials, and how they are run.

    ``StudySpec(workload="digits", trials=32)`` takes the keys of a study file, fills in what is left out and raises
    one `UsageError` with a line for every mistake. Needs no torch until `make_workload` is asked for one's own parts.
    """

    model_config = STRICT

    name: Line = key("name")
    workload: WorkloadChoice = key("workload")
    goals: Fractions = key("goals")
    check_interval: int = key("check_interval", ge=1, le=MOST_STEPS)
    step_limit: int = key("step_limit", ge=1, le=MOST_STEPS)
    batch_sizes: BatchSizes = key("batch_sizes")
    sparsities: Fractions = key("sparsities")
    criterion: Criterion = key("criterion", "snip")
    eligible: Literal["all", "weights"] = key("eligible", "all")
    trials: int = key("trials", ge=1, le=MOST_TRIALS)
    patience: Patience = key("patience")
    space: dict[str, Entry] = key("space")
    sequence: Literal["sobol", "halton"] = key("sequence", "sobol")
    seed: int = key("seed", 0, ge=0, le=LARGEST_SEED)
    device: Device = key("device", "cpu")
    threads: int = key("threads", 1, ge=1, le=MOST_THREADS)
    ranks: int = key("ranks", 1, ge=1, le=MOST_RANKS)
    engine: Literal["auto", "native", "traced", "plain"] = key("engine", "auto")
    test: Literal["certified", "confident"] = key("test", "certified")

    def __init__(self, source: str = "study", /, **document: Any) -> None:
        """Validate ``document``; ``source`` is how messages call it."""
        filled = completed(document)
        mistakes = list(incoherences(filled))
        try:
            super().__init__(**filled)
        except ValidationError as error:
            mistakes += from_pydantic(error.errors())
        refuse(mistakes, source)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], source: str = "study") -> StudySpec:
        """The spec that plain data, such as `document` gives, is about."""
        return cls(source, **document)

    @classmethod
    def from_json(cls, text: str, source: str = "study") -> StudySpec:
        """Read what `to_json` wrote."""
        return cls(source, **json.loads(text))

    def with_(self, **changes: Any) -> StudySpec:
        """The same spec with some of its keys changed, validated as a whole."""
        return type(self)(**{**self.document(), **changes})

    def to_json(self) -> str:
        """The whole spec in canonical JSON, nothing left out: what is stored with the results."""
        return _canonical(self.document())

    def document(self) -> dict[str, Any]:
        """The whole spec as plain data, in the order of the study file; an infinite patience is "inf"."""
        found: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        found |= {name: list(value) for name, value in found.items() if isinstance(value, tuple)}
        if isinstance(self.workload, Ingredients):
            found["workload"] = self.workload.model_dump()
        found["patience"] = "inf" if math.isinf(self.patience) else self.patience
        found["space"] = self.search_space.to_spec()
        return found

    @property
    def ingredients(self) -> Ingredients:
        """Data, network, optimiser and schedule, whether the workload is built in or one's own."""
        if isinstance(self.workload, Ingredients):
            return self.workload
        return Ingredients(**{part: getattr(WORKLOADS[self.workload], part) for part in PARTS})

    @property
    def search_space(self) -> Space:
        """Where metaparameters are searched; dimensions of the sequence are in one order, however they are written."""
        entries = {name: plain(name, entry) for name, entry in ordered(self.space).items()}
        return Space.from_spec(entries, sequence=self.sequence)

    @property
    def identity(self) -> str:
        """The sha256 of what decides a trial's numbers.

        The workload's parts, limits and space are always in it, so that a built-in workload that changes is another;
        any other key only where it is not the default, so that a new key leaves old studies as they are. What may grow
        has no part in it, nor has the name, nor which of several graphics cards is used.
        """
        always = {"check_interval", "step_limit", "space", *(f"workload.{part}" for part in PARTS)}
        found = {
            name: value
            for name, value in self.facts().items()
            if name in always or value != type(self).model_fields[name].default
        }
        return hashlib.sha256(_canonical(found).encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """By key, all that identity rests on: everything but the name and what may grow."""
        found = {name: value for name, value in self.document().items() if name not in LEFT_OUT}
        parts = {f"workload.{name}": value for name, value in self.ingredients.model_dump().items()}
        return {**parts, **found, "device": self.device.partition(":")[0]}

    def cells(self) -> tuple[tuple[int, float], ...]:
        """The grid: every (batch size, sparsity)."""
        return tuple((batch_size, sparsity) for batch_size in self.batch_sizes for sparsity in self.sparsities)

    def make_workload(self, source: str = "study") -> Workload:
        """The workload, after importing what of it is the user's own."""
        refuse(self._not_importable(), source)
        return Workload(
            name=self.workload if isinstance(self.workload, str) else "own",
            goals=self.goals,
            check_interval=self.check_interval,
            step_limit=self.step_limit,
            criterion=self.criterion,
            eligible=self.eligible,
            space=self.search_space,
            **self.ingredients.model_dump(),
        )

    def _not_importable(self) -> Iterator[Mistake]:
        parts = self.ingredients
        for kind, place, name in (
            ("data", ("workload", "data"), parts.data),
            ("networks", ("workload", "network"), parts.network),
            ("optimisers", ("workload", "optimiser"), parts.optimiser),
            ("schedules", ("workload", "schedule"), parts.schedule),
            ("criteria", ("criterion",), self.criterion),
        ):
            if name not in KINDS[kind]:
                try:
                    resolve(kind, name, {})
                except UsageError as error:
                    yield Mistake(place, str(error).removeprefix(f"{kind}: "), ABSENT, "what can be imported")


GROWING_SETS = ("goals", "batch_sizes", "sparsities")
GROWING_NUMBERS = ("trials", "patience")
LEFT_OUT = {"name", "workload", *GROWING_SETS, *GROWING_NUMBERS}
"""The keys without a part in a study's identity; of the workload, its four parts have one."""


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
