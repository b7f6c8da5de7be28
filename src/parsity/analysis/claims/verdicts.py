"""What a claim's verdict is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parsity.analysis.estimate import Estimate

Verdict = Literal["holds", "does not", "cannot be said"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A claim held against one study, goal and sparsity, with the numbers that decided."""

    study: str
    goal: float | None
    sparsity: float | None
    verdict: Verdict
    why: str
    numbers: Mapping[str, Estimate | float | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper.

    It holds where it holds in every case; it does not where it fails in one; otherwise it cannot be said.
    """

    key: str
    statement: str
    verdict: Verdict
    why: str
    cases: tuple[Case, ...]


def claim(key: str, statement: str, cases: Sequence[Case]) -> Claim:
    """The verdict of all cases together."""
    count = {word: sum(case.verdict == word for case in cases) for word in ("holds", "does not", "cannot be said")}
    verdict: Verdict = "cannot be said"
    if count["does not"]:
        verdict = "does not"
    elif cases and count["holds"] == len(cases):
        verdict = "holds"
    if not cases:
        why = "no study here measures it"
    elif len(cases) == 1:
        why = cases[0].why
    else:
        said = [f"{word} in {number}" for word, number in count.items() if number]
        why = f"of {len(cases)} cases: " + ", ".join(said)
    return Claim(key=key, statement=statement, verdict=verdict, why=why, cases=tuple(cases))


def spoken(estimate: Estimate, form: str = ".2f") -> str:
    """A number with its interval, in words."""
    value = "unknown" if estimate.value is None else format(estimate.value, form)
    low, high = ("open" if side is None else format(side, form) for side in (estimate.low, estimate.high))
    span = "not bounded" if estimate.low is None and estimate.high is None else f"{low} to {high}"
    n = f"n = {estimate.n}" if estimate.source == "trials" else f"by the scatter of {estimate.n} batch sizes"
    found = f"{value} ({span}, {n})"
    if estimate.open_because:
        found += f"; {estimate.open_because}"
        if estimate.patience is not None:
            found += f"; patience {estimate.patience:g} should tell"
    return found
