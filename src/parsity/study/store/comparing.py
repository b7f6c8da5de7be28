"""Two studies beside each other, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parsity.study.store.store import Store
from parsity.study.store.tables import TableRow


@dataclass(frozen=True, kw_only=True)
class ComparedRow:
    """What two studies say of one cell and goal; None where one has no such cell, or no trial that reached it."""

    batch_size: int
    sparsity: float
    goal: float
    steps_a: int | None
    steps_b: int | None
    winner_a: int | None
    winner_b: int | None

    @property
    def ratio(self) -> float | None:
        """Steps of b over steps of a."""
        return self.steps_b / self.steps_a if self.steps_a and self.steps_b else None

    @property
    def same(self) -> bool:
        """Whether the answer is the same: the steps, and the trial that needed them."""
        return (self.steps_a, self.winner_a) == (self.steps_b, self.winner_b)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All that differs between two studies."""

    digest_a: str
    digest_b: str
    spec: Mapping[str, tuple[Any, Any]]
    """By key, dots for tables within tables: the value in each; None where it is missing."""
    rows: tuple[ComparedRow, ...]

    @property
    def same(self) -> bool:
        """Whether they measured the same, trial by trial: equal digests."""
        return self.digest_a == self.digest_b


def compare(a: Store, b: Store) -> Comparison:
    """Compare the results of two studies, whatever they have in common."""
    with a.at_one_moment(), b.at_one_moment():
        of_a, of_b = _by_cell(a), _by_cell(b)
        rows = [_row(key, of_a.get(key), of_b.get(key)) for key in sorted({*of_a, *of_b})]
        return Comparison(
            digest_a=a.digest(), digest_b=b.digest(), spec=spec_differences(a.spec, b.spec), rows=tuple(rows)
        )


def spec_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The keys whose values differ, whatever kind of spec they belong to."""
    flat_a, flat_b = dict(_flat(a)), dict(_flat(b))
    return {
        key: (flat_a.get(key), flat_b.get(key))
        for key in dict.fromkeys([*flat_a, *flat_b])
        if flat_a.get(key) != flat_b.get(key)
    }


def _flat(spec: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in spec.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _by_cell(store: Store) -> dict[tuple[int, float, float], TableRow]:
    return {(row.batch_size, row.sparsity, row.goal): row for row in store.table()}


def _row(key: tuple[int, float, float], a: TableRow | None, b: TableRow | None) -> ComparedRow:
    return ComparedRow(
        batch_size=key[0],
        sparsity=key[1],
        goal=key[2],
        steps_a=a.steps_to_result if a else None,
        steps_b=b.steps_to_result if b else None,
        winner_a=a.winner if a else None,
        winner_b=b.winner if b else None,
    )
