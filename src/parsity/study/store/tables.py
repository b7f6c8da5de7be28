"""The K* table and the state of the cells, straight from checked rows: a hundred thousand trials in half a second."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from parsity.results import Finish, Status
from parsity.storage import joint_digest, row_digest
from parsity.study.store.grid import Grid
from parsity.study.store.reading import SetAside, newest, read_cells, read_rows
from parsity.study.store.rows import Row


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """The steps-to-result of one cell for one goal, and what its winner was run with."""

    batch_size: int
    sparsity: float
    goal: float
    steps_to_result: int | None
    last_miss: int | None
    winner: int | None
    test_error: float | None
    metaparameters: Mapping[str, float | int | str] | None
    trials: int
    outcomes: Mapping[Status, int]


@dataclass(frozen=True, kw_only=True)
class CellState:
    """How far one cell is."""

    batch_size: int
    sparsity: float
    planned: int
    measured: int
    due: tuple[int, ...]
    set_aside: tuple[int, ...]

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run; what was set aside is not tried again by itself."""
        return not set(self.due) - set(self.set_aside)


Ending = tuple[int, float, Status, int, int | None, float | None]
"""How one trial ended for one goal: number, patience, status, step, last miss, test error.

A bare tuple: of two hundred thousand, named ones take a second to make and to keep track of.
"""


class CellEndings:
    """The newest rows of one cell, what of them says how trials ended: enough for all but full results."""

    def __init__(self, batch_size: int, sparsity: float, rows: Mapping[int, Row]) -> None:
        self.batch_size, self.sparsity = batch_size, sparsity
        self.metaparameters = {number: row.metaparameters for number, row in rows.items()}
        self.by_goal: dict[float, list[Ending]] = {}
        self._finishes: dict[tuple[float, int | None], Finish] = {}
        by_goal = self.by_goal
        # One call for all rows costs half of one call for each.
        parsed = json.loads(f"[{','.join(row.outcomes for row in rows.values())}]")
        for row, entries in zip(rows.values(), parsed, strict=True):
            number, patience = row.number, row.patience
            for goal, *ending in entries:
                found = by_goal.get(goal)
                if found is None:
                    found = by_goal[goal] = []
                found.append((number, patience, *ending))

    def of(self, goal: float, trials: int | None = None) -> list[Ending]:
        """How trials 1 .. ``trials`` ended for ``goal``, by number."""
        found = self.by_goal.get(goal, [])
        if trials is None or not found or found[-1][0] <= trials:
            return found
        return [one for one in found if one[0] <= trials]

    def finish(self, goal: float, trials: int | None = None) -> Finish:
        """The best step of these trials."""
        if (goal, trials) not in self._finishes:
            endings = self.of(goal, trials)
            ends = ((step, miss or 0) for _, _, status, step, miss, _ in endings if status == "complete")
            self._finishes[goal, trials] = Finish.of(ends)
        return self._finishes[goal, trials]

    def due(self, grid: Grid, set_aside: Collection[int] = ()) -> list[int]:
        """The trials that have to be run, or run again, before the table is whole.

        A trial is due without a result, or without an outcome for one of the goals, or where it was outpaced with
        less patience than is now asked for and could, by going on, still show another outcome; or where its being
        outpaced is unfounded.
        """
        due = set(range(1, grid.trials + 1)) - self.metaparameters.keys()
        for goal in grid.goals:
            endings = self.of(goal)
            if len(endings) < len(self.metaparameters):
                due |= self.metaparameters.keys() - {number for number, *_ in endings}
            finish = self.finish(goal)
            due |= {
                number
                for number, patience, status, step, _, _ in endings
                if status == "outpaced" and patience < grid.patience and finish.could_change(step, grid.patience)
            }
        due |= self.unfounded(grid, set_aside)
        return sorted(number for number in due if number <= grid.trials)

    def unfounded(self, grid: Grid, set_aside: Collection[int]) -> set[int]:
        """The trials outpaced by one whose result never came, once no result is outstanding.

        A worker may announce a step, and then crash for good before its result is stored.
        """
        if set(range(1, grid.trials + 1)) - self.metaparameters.keys() - set(set_aside):
            return set()
        finishes = {goal: self.finish(goal) for goal in self.by_goal}
        return {
            number
            for goal, endings in self.by_goal.items()
            for number, patience, status, step, _, _ in endings
            if status == "outpaced" and finishes[goal].could_change(step, patience)
        }

    def table_row(self, goal: float, trials: int, patience: float) -> TableRow:
        """The settled answer for one goal."""
        endings = self.of(goal, trials)
        finish = self.finish(goal, trials)
        winner, best, last_miss, test_error = next(
            (
                (number, step, miss, error)
                for number, _, status, step, miss, error in endings
                if status == "complete" and step == finish.best
            ),
            (None, None, None, None),
        )
        early = finish.surely_in_time(patience)
        counts = Counter(
            status if step <= early or not finish.too_late(status, step, patience) else "outpaced"
            for _, _, status, step, _, _ in endings
        )
        return TableRow(
            batch_size=self.batch_size,
            sparsity=self.sparsity,
            goal=goal,
            steps_to_result=best,
            last_miss=last_miss,
            winner=winner,
            test_error=test_error,
            metaparameters=None if winner is None else json.loads(self.metaparameters[winner]),
            trials=len(endings),
            outcomes=dict(counts),
        )

    def settled_endings(self, goal: float, trials: int, patience: float) -> list[str]:
        """What the study's digest covers of one goal, by trial number: number, status, step, last miss, test error."""
        endings = self.of(goal, trials)
        finish = self.finish(goal, trials)
        early = finish.surely_in_time(patience)
        entries: list[str] = []
        won = False
        for number, _, status, step, last_miss, test_error in endings:
            if status == "outpaced" or (step > early and finish.too_late(status, step, patience)):
                entries.append(f"[{number}, 'outpaced', None, None, None]")
                continue
            wins = not won and status == "complete" and step == finish.best
            won = won or wins
            entries.append(f"[{number}, {status!r}, {step}, {last_miss}, {test_error if wins else None}]")
        return entries


Endings = Mapping[tuple[int, float], CellEndings]
"""Of every cell of a grid, in its order."""


def read_endings(connection: sqlite3.Connection, grid: Grid) -> Endings:
    """The endings of every cell of ``grid``, those without a result included, in the grid's order."""
    stored = read_cells(connection)
    found: dict[tuple[int, float], CellEndings] = {}
    for key in grid.cells:
        rows = newest(read_rows(connection, stored[key])) if key in stored else {}
        found[key] = CellEndings(*key, rows)
    return found


def table(endings: Endings, grid: Grid) -> tuple[TableRow, ...]:
    """K* by cell and goal; a cell without results shows none."""
    return tuple(cell.table_row(goal, grid.trials, grid.patience) for cell in endings.values() for goal in grid.goals)


def state(endings: Endings, grid: Grid, set_asides: Iterable[SetAside]) -> tuple[CellState, ...]:
    """How far each cell is."""
    asides: dict[tuple[int, float], list[int]] = {}
    for note in set_asides:
        asides.setdefault((note.batch_size, note.sparsity), []).append(note.number)
    found = []
    for key, cell in endings.items():
        aside = asides.get(key, [])
        due = cell.due(grid, aside)
        found.append(
            CellState(
                batch_size=cell.batch_size,
                sparsity=cell.sparsity,
                planned=grid.trials,
                measured=grid.trials - len(due),
                due=tuple(due),
                set_aside=tuple(aside),
            )
        )
    return tuple(found)


def study_digest(endings: Endings, grid: Grid, identity: str) -> str:
    """The digest of all that was measured, and of nothing that depends on how.

    It covers the identity, and for each cell and goal in order, each trial's settled outcome (of an outpaced one only
    that it was), its metaparameters, and the winner's test error. It leaves out seconds, images looked at, engines'
    remarks, runs, revisions and the order in which results came.
    """
    parts = [row_digest("identity", identity)]
    for (batch_size, sparsity), cell in endings.items():
        searched = [f"{number} {text}" for number, text in cell.metaparameters.items() if number <= grid.trials]
        if searched:
            parts.append(row_digest("searched", batch_size, sparsity, *searched))
        for goal in grid.goals:
            entries = cell.settled_endings(goal, grid.trials, grid.patience)
            if entries:
                parts.append(row_digest("settled", batch_size, sparsity, goal, *entries))
    return joint_digest(parts)
