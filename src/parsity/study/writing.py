"""A study file for people: every key with its comment, and what is left at its default commented out."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from parsity.study.keys import KEYS
from parsity.study.spec import StudySpec

WIDTH = 100
EXPLAINED = ("goals", "check_interval", "step_limit", "batch_sizes", "sparsities", "trials", "patience")
SELDOM = {
    "criterion": "what decides what is pruned: snip, magnitude, random, grasp, synflow, package.module:function",
    "eligible": "what pruning may take: all, or weights and no biases",
    "sequence": "what fills the search space: sobol, halton",
    "seed": "of initial weights and the order of images",
    "device": "where trials run: cpu, auto, cuda, cuda:1, ...",
    "threads": "of each trial; on a CPU, one process per core with one thread each is fastest",
    "ranks": "processes that share every batch of a trial",
    "engine": "what computes the steps: auto, native, traced, plain",
    "test": "certified is exact; confident asks a sample, wrong once in 10^9",
}


def render(spec: StudySpec, heading: str = "") -> str:
    """The text of a study file that reads back as ``spec``."""
    return "\n".join(_lines(spec, heading)) + "\n"


def toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(name)} = {toml(one)}' for name, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        # JSON's escapes are TOML's but for this one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _lines(spec: StudySpec, heading: str) -> Iterator[str]:
    document = spec.document()
    yield from _comment(f"A study of Parsity: {spec.name}.")
    for line in heading.splitlines():
        yield from _comment(line)
    yield ""
    yield f"name = {toml(spec.name)}"
    if isinstance(document["workload"], str):
        yield f"workload = {toml(document['workload'])}"
    else:
        yield from (f"workload.{part} = {toml(name)}" for part, name in document["workload"].items())
    for name in EXPLAINED:
        yield from _explained(document, name)
    yield ""
    yield "# Seldom changed; behind a # stands what holds anyway."
    for name, remark in SELDOM.items():
        off = "#" if document[name] == StudySpec.model_fields[name].default else ""
        yield f"{off}{name} = {toml(document[name])}".ljust(24) + f"  # {remark}"
    yield ""
    yield from _comment(KEYS["space"].what)
    yield "[space]"
    yield from (f"{_key(name)} = {toml(entry)}" for name, entry in document["space"].items())


def _explained(document: dict[str, Any], name: str) -> Iterator[str]:
    yield ""
    yield from _comment(KEYS[name].what)
    value = document[name]
    if name in ("goals", "sparsities"):
        value = [int(one) if one.is_integer() else one for one in value]
    elif name == "patience":
        value = int(value) if value != "inf" and value.is_integer() else value
    if isinstance(value, int):
        yield f"{name} = {value:_}" if value >= 10_000 else f"{name} = {value}"
    else:
        yield f"{name} = {value if value == 'inf' else toml(value)}"


def _comment(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)
