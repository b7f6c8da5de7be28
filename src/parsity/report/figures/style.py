"""How figures look: fonts and sizes, a style per sparsity, axes in powers of two."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

Width = Literal["page", "column"]
INCHES: dict[Width, float] = {"page": 6.75, "column": 3.25}
INK, NOTE, FAINT, RULE = "#000000", "#404040", "#767676", "#D0D0D0"
RC: dict[str, Any] = {
    # Part of matplotlib, so that the same numbers are the same bytes everywhere.
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.8,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "figure.titlesize": 8.5,
    "figure.titleweight": "bold",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.hspace": 0.0,
    "figure.constrained_layout.wspace": 0.0,
    # Letters are embedded: as outlines in SVG, as TrueType in PDF.
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "svg.hashsalt": "parsity",
}

_HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.9}


@contextmanager
def house_style(**changes: Any) -> Iterator[None]:
    """While within, matplotlib has Parsity's settings, whatever the user's own are."""
    with rc_context():
        rcdefaults()
        settings: Any = {**RC, **changes}
        rcParams.update(settings)
        yield


@dataclass(frozen=True)
class CurveStyle:
    """What a sparsity looks like: told apart by colour, by marker and by dashes."""

    colour: str
    marker: str
    dashes: Any


# Okabe and Ito's colours, which every kind of colour vision tells apart.
_STYLES = (
    CurveStyle("#0072B2", "o", "solid"),
    CurveStyle("#009E73", "s", (0, (5, 1.2))),
    CurveStyle("#E69F00", "^", (0, (3, 1, 1, 1))),
    CurveStyle("#D55E00", "D", (0, (1.2, 1))),
    CurveStyle("#CC79A7", "v", (0, (5, 1, 1, 1, 1, 1))),
    CurveStyle("#56B4E9", "P", (0, (2, 2))),
    CurveStyle("#000000", "X", (0, (7, 2))),
)


def styles(sparsities: Sequence[float]) -> dict[float, CurveStyle]:
    """A style for each sparsity of a study, the least sparse first."""
    return {sparsity: _STYLES[place % len(_STYLES)] for place, sparsity in enumerate(sorted(sparsities))}


def sparsity_label(sparsity: float, *, short: bool = False) -> str:
    """What a sparsity is called in a figure."""
    return f"{100 * sparsity:.4g} %{'' if short else ' sparse'}" if sparsity else "dense"


def new_figure(width: Width, height: float) -> Figure:
    """An empty figure, ``height`` inches high; no window, no global state."""
    return Figure(figsize=(INCHES[width], height), layout="constrained")


def parts(figure: Figure, heights: Sequence[float] = (1.0,)) -> list[SubFigure]:
    """Figures within the figure, one above the other: labels of one make no gaps in another, nor meet the legend."""
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    return [figure.add_subfigure(grid[row, 0]) for row in range(len(heights))]


def title(figure: Figure, text: str) -> None:
    """Put a title at the figure's left."""
    figure.suptitle(text, x=0.01, ha="left")


def draw_points(
    panel: Axes,
    points: Sequence[tuple[float, float]],
    sparsity: float,
    look: CurveStyle,
    unfinished: Collection[tuple[float, float]],
    *,
    line: bool = True,
    label: str | None = None,
) -> None:
    """Draw a sparsity's points over the batch size, those of cells with trials missing hollow."""
    dashes = look.dashes if line else "none"
    xs, ys = [x for x, _ in points], [y for _, y in points]
    named: dict[str, Any] = {"label": label or sparsity_label(sparsity), "gid": "measured"}
    panel.plot(xs, ys, color=look.colour, marker=look.marker, linestyle=dashes, zorder=3, **named)
    due = [(x, y) for x, y in points if (x, sparsity) in unfinished]
    if due:
        xs, ys = [x for x, _ in due], [y for _, y in due]
        panel.plot(xs, ys, look.marker, **_HOLLOW, markeredgecolor=look.colour, gid="unfinished", zorder=3.1)


def unfinished_handle() -> Line2D:
    """What the legend shows for cells with trials missing."""
    return Line2D([], [], marker="o", linestyle="none", **_HOLLOW, markeredgecolor=INK, label="trials missing")


def finite(values: Iterable[float | None]) -> list[float]:
    """Those values that can be put on a logarithmic axis."""
    return [value for value in values if value is not None and math.isfinite(value) and value > 0]


def limits(values: Iterable[float | None], *, margin: float = 1.4) -> tuple[float, float]:
    """The range that shows all ``values`` on a logarithmic axis, whatever they are."""
    found = finite(values) or [1.0, 2.0]
    return min(found) / margin, max(found) * margin


def log2_axis(
    axes: Axes, which: Literal["x", "y"], span: tuple[float, float], *, most: int = 7, plain: bool = False
) -> None:
    """Make an axis logarithmic over ``span``, with ticks at powers of two: at most ``most`` of them with a number.

    ``plain`` writes 1/2, 1, 2 instead of powers.
    """
    axes.set(**{f"{which}scale": "log", f"{which}lim": span})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = math.ceil(math.log2(span[0]) - 1e-9), math.floor(math.log2(span[1]) + 1e-9)
    powers = range(low, high + 1)
    stride = max(1, math.ceil(len(powers) / most))
    # Counted from a multiple of the stride, so that panels of different ranges agree.
    axis.set_major_locator(FixedLocator([2.0**power for power in powers if power % stride == 0]))
    axis.set_minor_locator(FixedLocator([2.0**power for power in powers if power % stride]))
    axis.set_major_formatter(FuncFormatter(_fraction if plain else _power))
    axis.set_minor_formatter(NullFormatter())


def _power(value: float, _: int | None = None) -> str:
    return f"$2^{{{round(math.log2(value))}}}$"


def _fraction(value: float, _: int | None = None) -> str:
    return f"{value:g}" if value >= 1 else f"1/{round(1 / value)}"
