"""The types of a study file's values: strict, and each with its own reason where it is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from parsity.study.keys import LARGEST_BATCH, key
from parsity.study.names import KINDS, closest, known, mistaken
from parsity.study.ranges import STRICT
from parsity.training import WORKLOADS


def _known(kind: str) -> Callable[[str], str]:
    def check(name: str) -> str:
        return _unless(mistaken(kind, name), name, known(kind))

    return check


def _name_schema(kind: str) -> WithJsonSchema:
    # Editors offer the built-in names; entry points make any other text possible.
    return WithJsonSchema({"anyOf": [{"enum": list(KINDS[kind])}, {"type": "string"}]})


def _built_in_workload(name: str) -> str:
    return _unless(None if name in WORKLOADS else "not known", name, WORKLOADS)


def _line_of_text(text: str) -> str:
    fits = text.strip() and text.isprintable() and len(text) <= 200
    return _unless(None if fits else "not a line of 1 to 200 printable characters", text)


def _unless(wrong: str | None, value: str, names: Iterable[str] = ()) -> str:
    if wrong is not None:
        raise PydanticCustomError("name", "{wrong}", {"wrong": wrong, "meant": closest(value, names)})
    return value


def _ascending(values: tuple[Any, ...]) -> tuple[Any, ...]:
    # Adding zero turns -0.0, which is written otherwise, into 0.0.
    return tuple(sorted(value + 0 for value in values))


def _infinite(value: object) -> object:
    return math.inf if value == "inf" else value  # the way JSON has to say it


Line = Annotated[str, AfterValidator(_line_of_text)]
Data = Annotated[str, AfterValidator(_known("data")), _name_schema("data")]
Network = Annotated[str, AfterValidator(_known("networks")), _name_schema("networks")]
Optimiser = Annotated[str, AfterValidator(_known("optimisers")), _name_schema("optimisers")]
Schedule = Annotated[str, AfterValidator(_known("schedules")), _name_schema("schedules")]
Criterion = Annotated[str, AfterValidator(_known("criteria")), _name_schema("criteria")]
Device = Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:(0|[1-9]\d{0,2}))?)$")]
Patience = Annotated[
    float,
    Field(ge=1, allow_inf_nan=True),
    BeforeValidator(_infinite),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1}, {"const": "inf"}]}),
]

# A list becomes a tuple in ascending order; what is in it is as strict as ever.
_LIST: Any = Field(strict=False, min_length=1, json_schema_extra={"uniqueItems": True})
BatchSizes = Annotated[tuple[Annotated[int, Field(ge=1, le=LARGEST_BATCH)], ...], _LIST, AfterValidator(_ascending)]
Fractions = Annotated[tuple[Annotated[float, Field(ge=0, lt=1)], ...], _LIST, AfterValidator(_ascending)]


class Ingredients(BaseModel):
    """The four things a workload is made of."""

    model_config = STRICT

    data: Data = key("workload.data")
    network: Network = key("workload.network")
    optimiser: Optimiser = key("workload.optimiser", "momentum")
    schedule: Schedule = key("workload.schedule", "constant")


def _form(workload: object) -> Literal["<table>", "<name>"]:
    return "<table>" if isinstance(workload, Mapping | Ingredients) else "<name>"


WorkloadName = Annotated[
    str, AfterValidator(_built_in_workload), WithJsonSchema({"type": "string", "enum": list(WORKLOADS)})
]
WorkloadChoice = Annotated[
    Annotated[WorkloadName, Tag("<name>")] | Annotated[Ingredients, Tag("<table>")], Discriminator(_form)
]
