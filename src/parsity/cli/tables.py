"""What verbs print on standard output: tables for people, JSON for programs; and numbers the way people write them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2  # blanks between columns
NARROWEST = 12  # characters to which a column of text may be folded


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    numbers: Collection[str] = (),
    dispensable: Sequence[str] = (),
) -> None:
    """Print columns, those of ``numbers`` at their right edge: drawn by rich on a terminal, as plain text elsewhere.

    Where a terminal is too narrow, columns go that are ``dispensable``, the first ones first, and then text folds; a
    number is never cut. Without any heading, there is no line for them.
    """
    columns = [_Column(heading, cells, heading in numbers) for heading, *cells in zip(headings, *rows, strict=True)]
    if not sys.stdout.isatty():
        _write(columns)
        return
    left_out = []
    for heading in dispensable:
        if sum(column.width + GAP for column in columns) - GAP > room():
            left_out.append(heading)
            columns = [column for column in columns if column.heading != heading]
    _draw(columns)
    if left_out:
        sys.stderr.write(f"left out, as the terminal is too narrow: {', '.join(left_out)}\n")


def print_title(text: str) -> None:
    """Print a line that stands above a table: bold on a terminal."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(highlight=False).print(Text(text, style="bold"), soft_wrap=True)
    else:
        sys.stdout.write(f"{text}\n")


def print_json(document: Any, *, in_one_line: bool = False) -> None:
    """Print plain data as JSON that every program can read: what is not finite is written "inf" or "nan"."""
    sys.stdout.write(f"{as_json(document, indent=None if in_one_line else 2)}\n")


def as_json(document: Any, *, indent: int | None = None) -> str:
    """Plain data as such JSON."""
    return json.dumps(_plain(document), indent=indent, ensure_ascii=False, allow_nan=False)


def room() -> float:
    """Characters in a line: the terminal's, or no end of them elsewhere."""
    if not sys.stdout.isatty():
        return math.inf
    from rich.console import Console

    return Console().width


def short(value: float) -> str:
    """A goal or a sparsity: as few digits as tell it from any other."""
    brief = f"{value:g}"
    return brief if float(brief) == value else repr(value)


def counted(number: int, one: str, many: str | None = None) -> str:
    """So many of them: 1 cell, 2 cells, 3 passes."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def hanging(texts: Sequence[str], marks: str = "?!*") -> list[str]:
    """Numbers as one column in which marks behind them do not move the digits."""
    return _tailed(texts, [len(text) - len(text.rstrip(marks)) for text in texts])


def pointwise(values: Iterable[float | int | str | None]) -> list[str]:
    """Values as one column in which decimal points stand under each other."""
    texts = [_written(value) for value in values]
    return _tailed(texts, [len(text) - text.find(".") if "." in text else 0 for text in texts])


def metaparameter_columns(of_rows: Sequence[Mapping[str, float | int | str] | None]) -> dict[str, list[str]]:
    """A column for each metaparameter that any of the rows has."""
    names = dict.fromkeys(name for row in of_rows for name in row or ())
    return {name: pointwise((row or {}).get(name) for row in of_rows) for name in names}


def _tailed(texts: Sequence[str], tails: Sequence[int]) -> list[str]:
    """Texts that end so many characters after the place which is to be the same in all."""
    longest = max(tails, default=0)
    return [text + " " * (longest - tail) for text, tail in zip(texts, tails, strict=True)]


def _written(value: float | int | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value


@dataclass(frozen=True)
class _Column:
    heading: str
    cells: Sequence[str | Text]
    number: bool

    @cached_property
    def width(self) -> int:
        return max(map(_width, (self.heading, *self.cells)))

    def padded(self, cell: str | Text) -> str:
        blanks = " " * (self.width - _width(cell))
        return f"{blanks}{cell}" if self.number else f"{cell}{blanks}"

    def drawn(self, cell: str | Text) -> Text:
        from rich.text import Text

        drawn = Text(cell) if isinstance(cell, str) else cell.copy()
        if self.number:  # by ourselves: rich, asked to justify, would drop the blanks behind it
            drawn.pad_left(self.width - _width(cell))
        return drawn


def _write(columns: Sequence[_Column]) -> None:
    lines = zip(*([column.padded(cell) for cell in (column.heading, *column.cells)] for column in columns), strict=True)
    for number, line in enumerate(lines):
        if number or any(column.heading for column in columns):
            sys.stdout.write((" " * GAP).join(line).rstrip() + "\n")


def _draw(columns: Sequence[_Column]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(one.heading for one in columns))
    for column in columns:
        if column.number:
            table.add_column(column.drawn(column.heading), no_wrap=True, min_width=column.width)
        else:
            table.add_column(column.drawn(column.heading), overflow="fold")
    for row in zip(*([column.drawn(cell) for cell in column.cells] for column in columns), strict=True):
        table.add_row(*row)
    console = Console(highlight=False)
    # Narrower than this, lines are left for the terminal to break: better than digits that are missing.
    least = sum(column.width if column.number else min(column.width, NARROWEST) for column in columns)
    console.width = max(console.width, least + GAP * (len(columns) - 1))
    console.print(table)


def _width(cell: str | Text) -> int:
    text = str(cell)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
