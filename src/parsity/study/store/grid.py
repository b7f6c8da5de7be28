"""What a stored spec asks for: the few keys of it that the store itself reads.

Of a spec, as `StudySpec.document` gives it, these are ``workload``, ``batch_sizes``, ``sparsities``, ``goals``,
``trials`` and ``patience`` (a number, or "inf"); the rest it keeps as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parsity.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The cells of a study, and what each of them needs."""

    name: str
    batch_sizes: tuple[int, ...]
    sparsities: tuple[float, ...]
    goals: tuple[float, ...]
    trials: int
    patience: float

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Grid:
        """Read it from a spec."""
        workload = spec.get("workload")
        try:
            return cls(
                # Results of one's own parts have the name that `Workload` gives them.
                name=workload if isinstance(workload, str) else "own",
                batch_sizes=tuple(sorted({int(size) for size in spec["batch_sizes"]})),
                sparsities=tuple(sorted({float(sparsity) for sparsity in spec["sparsities"]})),
                goals=tuple(sorted({float(goal) for goal in spec["goals"]})),
                trials=int(spec["trials"]),
                patience=float(spec["patience"]),
            )
        except KeyError as error:
            raise UsageError(f"spec: it has no {error}") from error
        except (TypeError, ValueError) as error:
            raise UsageError(f"spec: of its batch sizes, sparsities, goals, trials or patience: {error}") from error

    @property
    def cells(self) -> tuple[tuple[int, float], ...]:
        """All (batch size, sparsity), in the order in which results are told and digested."""
        return tuple((size, sparsity) for size in self.batch_sizes for sparsity in self.sparsities)

    def asking(self, *, trials: int | None, goals: Sequence[float] | None, patience: float | None) -> Grid:
        """The same cells, with what is given asked of them instead."""
        return replace(
            self,
            trials=self.trials if trials is None else trials,
            goals=self.goals if goals is None else tuple(sorted({float(goal) for goal in goals})),
            patience=self.patience if patience is None else patience,
        )

    def check_growth(self, older: Grid) -> None:
        """Refuse to become smaller than ``older``: what is measured would no longer be asked for."""
        lost: dict[str, list[int] | list[float]] = {
            "batch sizes": sorted({*older.batch_sizes} - {*self.batch_sizes}),
            "sparsities": sorted({*older.sparsities} - {*self.sparsities}),
            "goals": sorted({*older.goals} - {*self.goals}),
            "trials": [older.trials] if self.trials < older.trials else [],
            "patience": [older.patience] if self.patience < older.patience else [],
        }
        for what, values in lost.items():
            if values:
                raise UsageError(
                    f"{what}: a study may grow and not shrink; {', '.join(map(str, values))} would be lost"
                )
