"""What ``parsity run`` says while it runs: a live board on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import RenderableType

    from parsity.results import CellResult
    from parsity.study import Driver, StudySpec
    from parsity.study.running import LeftPiece

PLAIN_EVERY = 30.0  # seconds between lines where nothing else is to be said
LIVE_EVERY = 0.25
NEWEST = 8  # finished cells on the board


class Progress:
    """Shows a driver at work."""

    def __init__(self, spec: StudySpec, folder: Path) -> None:
        self._spec = spec
        self._folder = folder
        self._live: Any = None
        self._spoken = self._drawn = time.monotonic()
        self._known: set[tuple[int, float]] = set()
        self._finished: list[CellResult] = []
        self._left = 0

    def __enter__(self) -> Self:
        name, cells = self._spec.name, len(self._spec.cells())
        trials = f"{self._spec.trials} trials" if self._spec.trials > 1 else "1 trial"
        sys.stderr.write(f"{name}: {cells} cells, {trials} each, in {self._folder}\n")
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, driver: Driver) -> None:
        """Called often; says something when there is something to say."""
        newest = driver.newest
        if newest is not None and (newest.batch_size, newest.sparsity) not in self._known:
            self._known.add((newest.batch_size, newest.sparsity))
            self._finished.append(newest)
            self._say(self._cell_line(newest, driver))
        for piece in driver.left[self._left :]:
            self._say(f"  {left_line(piece)}")
        self._left = len(driver.left)
        now = time.monotonic()
        if self._live is not None:
            if now - self._drawn >= LIVE_EVERY:
                self._drawn = now
                self._live.update(self._board(driver), refresh=True)
        elif now - self._spoken >= PLAIN_EVERY:
            self._say(f"  {self._totals(driver)}")

    def _say(self, line: str) -> None:
        self._spoken = time.monotonic()
        if self._live is not None:
            self._live.console.print(line, highlight=False, markup=False)
        else:
            sys.stderr.write(f"{line}\n")

    def _cell_line(self, cell: CellResult, driver: Driver) -> str:
        reached = []
        for goal in cell.goals:
            winner = cell.winner(goal)
            found = f"K* = {winner.step:,} (trial {winner.number})" if winner else "nobody reached the goal"
            reached.append(found if len(cell.goals) == 1 else f"goal {goal:g}: {found}")
        done, planned = driver.done, len(self._spec.cells())
        return f"  [{done}/{planned}] B={cell.batch_size} S={cell.sparsity:g}: {', '.join(reached)}"

    def _totals(self, driver: Driver) -> str:
        passed = time.monotonic() - driver.started
        rate = f"{driver.images / passed:,.0f} images/s" if passed and driver.images else "preparing"
        eta = driver.eta
        stopping = "stopping; " if driver.stopping else ""
        return (
            f"{stopping}{driver.done}/{len(self._spec.cells())} cells, {rate}, "
            f"{duration(passed)} passed, about {duration(eta.middle)} left "
            f"({duration(eta.low)} to {duration(eta.high)})"
        )

    def _board(self, driver: Driver) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        tasks = Table.grid(padding=(0, 2))
        for running in driver.running.values():
            best = driver.best(running.task.cell)
            known = f"K* <= {best:,.0f}" if best is not None else ""
            tasks.add_row(f"  {running.task}", f"step {running.step:,}" if running.step else "preparing", known)
        bar = ProgressBar(total=max(len(self._spec.cells()), 1), completed=driver.done, width=40)
        # A bar ends no line of its own; a row does.
        barred = Table.grid()
        barred.add_row("  ", bar)
        return Group(Text(""), tasks, barred, Text(f"  {self._totals(driver)}"))


def left_line(piece: LeftPiece) -> str:
    """What is said of trials that have used their passes up."""
    batch_size, sparsity = piece.cell
    return f"left for later: B={batch_size} S={sparsity:g}, nobody at the goal after {piece.step:,} steps"


def duration(seconds: float) -> str:
    """So long, in the two units that matter."""
    if seconds < 1:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes} min {rest:02d} s"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02d} h" if days else f"{hours} h {minutes:02d} min"
