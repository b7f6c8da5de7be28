"""Numbers the way people write them."""

from __future__ import annotations

import math
import re

from parsity.analysis import Estimate

DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
PERCENT = re.compile(r"(?<=\d)%")


def short(value: float) -> str:
    """A goal or a sparsity: as few digits as tell it from any other."""
    brief = f"{value:g}"
    return brief if float(brief) == value else repr(value)


def percent(value: float, digits: int = 1) -> str:
    """A share, of 1, as a percentage."""
    text = f"{value * 100:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) + "\N{NO-BREAK SPACE}%"


def called(sparsity: float) -> str:
    """A network pruned to ``sparsity``, in a word or two."""
    return f"{percent(sparsity, 2)} sparse" if sparsity else "dense"


def about(value: float | None) -> str:
    """A number from a fit: two digits, three from 1,000 on."""
    if value is None or not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    digits = 2 if abs(value) < 1000 else 3
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 else f"{rounded:.{digits}g}"


def factor(value: float | None) -> str:
    """How many times."""
    return DASH if value is None or not math.isfinite(value) else f"{value:.2f}{TIMES}"


def times(value: float) -> str:
    """How many times, in words of a sentence: two digits."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.1f}" if rounded >= 1 else f"{rounded:.2f}"


def sentence(text: str) -> str:
    """What the analysis says, as a sentence of its own."""
    spaced = PERCENT.sub("\N{NO-BREAK SPACE}%", text)
    return f"{spaced[:1].upper()}{spaced[1:]}{'' if spaced.endswith('.') else '.'}" if spaced else ""


def measured(value: float | int | str) -> str:
    """A metaparameter's value."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value


def interval(estimate: Estimate, form: str = "about") -> str:
    """The 95 % interval; a side that is not bounded says so."""
    if estimate.low is None and estimate.high is None:
        return "not bounded"
    if estimate.low is None:
        return f"up to {_side(estimate.high, form)}, open below"
    if estimate.high is None:
        return f"from {_side(estimate.low, form)}, open above"
    return f"{_side(estimate.low, form)} to {_side(estimate.high, form)}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """So many of them."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(words: list[str]) -> str:
    """One, another and a third."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def duration(seconds: float) -> str:
    """So long, in the two units that matter."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.0f} s"


def _side(value: float | None, form: str) -> str:
    return about(value) if form == "about" else factor(value)


def rests_on(estimate: Estimate) -> str:
    """What its interval is made from, counted."""
    return counted(estimate.n, "trial" if estimate.source == "trials" else "batch size")
