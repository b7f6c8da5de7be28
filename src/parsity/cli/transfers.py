"""What the data verbs say on standard error while something is on its way."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rich.progress import Progress, TaskID

# Seconds between plain lines where there is no terminal to draw on, and while nothing moves.
_INTERVAL, _STILL = 5.0, 30.0


class _Talk(logging.Handler):
    # Looks standard error up each time, since a live bar puts itself in between.
    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{self.format(record)}\n")


@contextlib.contextmanager
def talking() -> Iterator[None]:
    """Let the library's remarks through to standard error."""
    logger = logging.getLogger("parsity")
    if logger.handlers:
        yield
        return
    handler, level = _Talk(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class Transfers:
    """Shows transfers as they go: a bar on a terminal, a plain line now and then elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stack = contextlib.ExitStack()
        self._bar: Progress | None = None
        self._task: tuple[str, TaskID] | None = None
        self._spoken = time.monotonic()
        self._said = ("", 0)

    def __enter__(self) -> Transfers:
        self._stack.enter_context(talking())
        if sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            columns = (
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.DownloadColumn(),
                progress.TransferSpeedColumn(),
                progress.TimeRemainingColumn(),
            )
            console = Console(stderr=True)
            self._bar = self._stack.enter_context(progress.Progress(*columns, console=console, transient=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` bytes of ``what`` have come."""
        if self._bar is None:
            if time.monotonic() - self._spoken >= (_STILL if self._said == (what, done) else _INTERVAL):
                self._spoken, self._said = time.monotonic(), (what, done)
                of = "" if total is None else f" of {total / 1e6:.1f}"
                sys.stderr.write(f"{self._name}: {what}: {done / 1e6:.1f}{of} MB\n")
            return
        if self._task is None or self._task[0] != what:
            if self._task is not None:
                self._bar.remove_task(self._task[1])
            short = what.rpartition("/")[2] if "://" in what else what
            self._task = what, self._bar.add_task(f"{self._name}: {short}", total=total)
        self._bar.update(self._task[1], completed=done, total=total)
