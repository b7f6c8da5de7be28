"""``parsity watch``: a study while it is measured, drawn again and again until it is finished."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.errors import BusyError, UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.cli.live import Absence, Looking, Sight

SHORTEST, LONGEST = 0.1, 3600.0  # seconds between looks
PLAIN_EVERY = 30.0  # seconds between lines where nothing else is to be said


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity watch``."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the study's folder; it may be yet to come")
    parser.add_argument("--goal", type=float, metavar="ERROR", help="show K* for this goal (default: the lowest error)")
    parser.add_argument(
        "--interval", type=_interval, default=1.0, metavar="SECONDS", help="between one look and the next (default: 1)"
    )
    parser.add_argument("--once", action="store_true", help="look once, and end")
    parser.add_argument("--json", action="store_true", help="a line of JSON for every look")
    parser.epilog = (
        "It ends when the study is finished: with 0, or with 3 where trials are set aside. Ctrl-C ends it before, and "
        "is nothing to the driver."
    )


def run(arguments: argparse.Namespace) -> int:
    """Look, show, wait."""
    from parsity.cli.live import Absence, Looking

    looking = Looking(arguments.folder)
    if arguments.once:
        seen = looking.look()
        if isinstance(seen, Absence):
            raise (BusyError if seen.busy else UsageError)(seen.why.replace("; waiting", ""))
        _show_once(seen, arguments)
        return _code(seen)
    if arguments.json:
        return _print_lines_of_json(looking, arguments)
    from rich.console import Console

    console = Console(highlight=False)
    if sys.stdout.isatty() and not console.is_dumb_terminal:
        from parsity.cli.watch_text import Board

        with Board(console) as board:
            return _follow(looking, arguments, board.show)
    return _follow(looking, arguments, _Lines(arguments.goal).show)


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not SHORTEST <= seconds <= LONGEST:
        raise ArgumentTypeError(f"{text!r}: a number of seconds from {SHORTEST:g} to {LONGEST:,.0f}")
    return seconds


def _follow(looking: Looking, arguments: argparse.Namespace, show: Any) -> int:
    from parsity.cli.live import Sight

    while True:
        seen = looking.look()
        if isinstance(seen, Sight):
            _goal(seen, arguments.goal)
        show(seen, arguments.goal)
        if isinstance(seen, Sight) and seen.finished:
            return _code(seen)
        time.sleep(arguments.interval)


def _print_lines_of_json(looking: Looking, arguments: argparse.Namespace) -> int:
    from parsity.cli.tables import print_json

    def show(seen: Sight | Absence, goal: float | None) -> None:
        print_json(seen.document, in_one_line=True)
        sys.stdout.flush()

    return _follow(looking, arguments, show)


def _show_once(seen: Sight, arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from parsity.cli.tables import print_json
    from parsity.cli.watch_text import lines

    goal = _goal(seen, arguments.goal)
    if arguments.json:
        print_json(seen.document, in_one_line=True)
    elif sys.stdout.isatty():
        Console(highlight=False).print(*lines(seen.document, goal), sep="\n", no_wrap=True, crop=False)
    else:
        sys.stdout.write("".join(f"{line.plain.rstrip()}\n" for line in lines(seen.document, goal)))


def _goal(seen: Sight, asked: float | None) -> float:
    from parsity.cli.studies import chosen

    return chosen(seen.document, "goals", "--goal", asked)[0]


def _code(seen: Sight) -> int:
    return 3 if seen.document["trials"]["set_aside"] else 0


class _Lines:
    """Where nothing can be drawn anew: a line for each cell that is finished, and now and then the totals."""

    def __init__(self, goal: float | None) -> None:
        self._spoken = -PLAIN_EVERY
        self._known: set[tuple[int, float]] | None = None
        self._absent = ""
        self._driver: int | None = None

    def show(self, seen: Sight | Absence, goal: float | None) -> None:
        """Say what is new."""
        from parsity.cli.live import Absence

        if isinstance(seen, Absence):
            if seen.why != self._absent:
                self._say(seen.why)
            self._absent, self._known = seen.why, None
            return
        from parsity.cli.watch_text import finish_line, title, totals, who

        found = seen.document
        done = {(cell["batch_size"], cell["sparsity"]): cell for cell in found["cells"] if cell["state"] == "finished"}
        first = self._known is None
        if first:
            self._say(title(found))
        elif found["driver"] != self._driver and who(found):
            self._say(who(found))
        new = set(done) - (set(done) if self._known is None else self._known)
        known_order = [(cell["batch_size"], cell["sparsity"]) for cell in found["newest"]]
        for key in sorted(new, key=lambda key: known_order.index(key) if key in known_order else -1):
            self._say(f"  {finish_line(done[key])}")
        if first or seen.finished or time.monotonic() - self._spoken >= PLAIN_EVERY:
            self._say(f"  {totals(found)}")
        self._known, self._driver, self._absent = set(done), found["driver"], ""

    def _say(self, line: str) -> None:
        self._spoken = time.monotonic()
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
