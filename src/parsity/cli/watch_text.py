"""What ``parsity watch`` shows: the state and K* of every cell, how far all is, who is at work, what finished last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from parsity.cli.progress import duration
from parsity.cli.tables import short

if TYPE_CHECKING:
    from parsity.cli.live import Absence, Sight

BAR = 40  # characters
SHOWN = 8  # cells that finished last
STYLES = {"finished": "bold", "running": "cyan", "begun": "yellow", "waiting": "dim"}
LEGEND = {
    ">": "at work",
    "?": "trials are due",
    ".": "not begun",
    "-": "no trial has reached the goal",
    "!": "trials were set aside",
}

Document = Mapping[str, Any]


class Board:
    """The lines of a study, drawn in one place of a terminal; what was there last stays when it ends."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._console = console

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def show(self, seen: Sight | Absence, goal: float | None) -> None:
        """Draw what is seen."""
        from parsity.cli.live import Absence

        if isinstance(seen, Absence):
            found = [Text(seen.why)]
        else:
            found = lines(seen.document, min(seen.document["goals"]) if goal is None else goal)
        self._live.update(Text("\n", no_wrap=True, overflow="crop").join(found), refresh=True)


def lines(found: Document, goal: float) -> list[Text]:
    """All of them; what matters least comes last, where a small terminal has no room."""
    return [
        Text(title(found), style="bold"),
        Text(f"{_bar(found)}  {_counts(found)}"),
        Text(_pace(found)),
        *([Text(who(found))] if who(found) else []),
        Text(),
        *_grid(found, goal),
        Text(f"K* for goal {short(goal)}, by batch size and sparsity", style="dim"),
        *_legend(found, goal),
        *_newest(found),
    ]


def title(found: Document) -> str:
    """Its name and state."""
    parts = found["workload"]
    return f"{found['name']}: {_state(found)}, {parts['network']} on {parts['data']}"


def totals(found: Document) -> str:
    """How far it is, in one line."""
    return f"{_counts(found)}; {_pace(found)}"


def who(found: Document) -> str:
    """Who is at work, if anybody."""
    if found["driver"] is not None:
        workers = found["workers"]
        crew = f" with {workers} worker{'' if workers == 1 else 's'}" if workers else ""
        return f"process {found['driver']} is {'stopping' if found['stopping'] else f'at work{crew}'}"
    return "" if found["finished"] else f"nobody is at work; to go on: parsity run {found['folder']}"


def finish_line(cell: Document) -> str:
    """What came out of one cell."""
    reached = []
    for goal, steps in cell["steps"].items():
        told = f"K* = {steps:,} (trial {cell['winner'][goal]})" if steps else "nobody reached the goal"
        reached.append(told if len(cell["steps"]) == 1 else f"goal {short(goal)}: {told}")
    return f"B={cell['batch_size']} S={short(cell['sparsity'])}: {', '.join(reached)}"


def _state(found: Document) -> str:
    if found["finished"] and found["driver"] is None:
        return "finished, with trials set aside" if found["trials"]["set_aside"] else "finished"
    return "stopped" if found["driver"] is None else "being measured"


def _counts(found: Document) -> str:
    cells, trials = found["cells"], found["trials"]
    done = sum(cell["state"] == "finished" for cell in cells)
    aside = f", {trials['set_aside']:,} set aside" if trials["set_aside"] else ""
    return f"{trials['measured']:,} of {trials['planned']:,} trials{aside}, {done} of {len(cells)} cells"


def _bar(found: Document) -> str:
    trials = found["trials"]
    full = BAR * trials["measured"] // max(1, trials["planned"])
    return f"[{'=' * full}{' ' * (BAR - full)}]"


def _pace(found: Document) -> str:
    if found["finished"]:
        return f"{found['image_passes']:,} image passes, {duration(found['seconds'])} of one core"
    rate, left = found["images_per_second"], found["left"]
    words = [f"{rate:,.0f} images/s"] if rate else []
    if left is not None:
        low, middle, high = (duration(left[key]) for key in ("low", "middle", "high"))
        words.append(f"about {middle} left ({low} to {high})")
    return ", ".join(words)


def _grid(found: Document, goal: float) -> Iterator[Text]:
    sizes, sparsities = found["batch_sizes"], found["sparsities"]
    by_key = {(cell["batch_size"], cell["sparsity"]): cell for cell in found["cells"]}
    columns = [_column(short(s), [by_key[size, s] for size in sizes], goal) for s in sparsities]
    first = ["batch size", *(f"{size:,}" for size in sizes)]
    width = max(map(len, first))
    for place, name in enumerate(first):
        line = Text(name.rjust(width), style="bold" if not place else "")
        for column in columns:
            text, style = column[place]
            line.append("  ").append(text, style=style)
        yield line


def _legend(found: Document, goal: float) -> Iterator[Text]:
    marks = {_shown(cell, goal)[1] for cell in found["cells"]}
    told = [f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in marks]
    if told:
        yield Text("   ".join(told), style="dim")


def _column(heading: str, cells: Sequence[Document], goal: float) -> list[tuple[str, str]]:
    """Digits stand below each other, whatever mark follows them."""
    marked = [(heading, " "), *(_shown(cell, goal) for cell in cells)]
    width = max(len(text) for text, _ in marked)
    styles = ["bold", *(STYLES[cell["state"]] for cell in cells)]
    return [(f"{text.rjust(width)}{mark}", style) for (text, mark), style in zip(marked, styles, strict=True)]


def _shown(cell: Document, goal: float) -> tuple[str, str]:
    """K* so far, or else how far it is; and a mark."""
    steps, state = cell["steps"].get(goal), cell["state"]
    if state == "waiting":
        return "", "."
    if state == "finished":
        return f"{steps:,}" if steps else "", "!" if cell["set_aside"] else " " if steps else "-"
    mark = ">" if state == "running" else "?"
    if steps:
        return f"{steps:,}", mark
    if cell["step"]:
        return f"step {cell['step']:,}", mark
    return f"{cell['measured']}/{cell['planned']}", mark


def _newest(found: Document) -> Iterator[Text]:
    newest = found["newest"][-SHOWN:]
    if newest:
        yield Text()
        yield Text("finished last", style="bold")
    for cell in reversed(newest):
        yield Text(f"  {finish_line(cell)}")
