"""The density of every tensor, drawn."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parsity.errors import UsageError
from parsity.pruning.flow import layer_of
from parsity.pruning.mask import Mask, TensorReport
from parsity.whole_file import write_whole

FORMATS = (".png", ".svg")
# Of Okabe and Ito's colours, told apart by every kind of colour vision.
KEPT, CUT_OFF, OVERALL = "#0072B2", "#D55E00", "#000000"
TRACK = "#E6E6E6"


def check_figure_path(path: Path) -> Path:
    """Return ``path`` if a figure can be written in the format its name asks for."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"figure {path}: the name must end in {' or '.join(FORMATS)}")
    return path


def draw_densities(
    masks: Mapping[float, Mask], *, title: str, cut_off: Mapping[float, Collection[str]], to: Path
) -> None:
    """Draw one panel per sparsity, one bar per tensor, and write them to ``to`` (.png or .svg).

    ``cut_off`` names the layers without a path from input to output, by sparsity.
    """
    check_figure_path(to)
    rows = next(iter(masks.values())).report()
    height = 1.3 + 0.32 * len(rows)
    # Same numbers, same bytes: no date, no random identifiers.
    with rc_context({"svg.hashsalt": "parsity", "font.size": 9}):
        figure = Figure(figsize=(1.8 + 3.6 * len(masks), height), layout="constrained")
        panels = figure.subplots(1, len(masks), sharey=True, squeeze=False)[0]
        for panel, (sparsity, mask) in zip(panels, masks.items(), strict=True):
            _draw(panel, mask.report(), cut_off.get(sparsity, ()))
            _mark_overall(panel, mask, sparsity)
        panels[0].set_yticks(range(len(rows)), [_label(row) for row in rows])
        panels[0].invert_yaxis()
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        image = io.BytesIO()
        figure.savefig(
            image, format=to.suffix[1:].lower(), dpi=160, metadata={"Date": None} if to.suffix == ".svg" else None
        )
    write_whole(to, image.getvalue())


def _draw(panel: Axes, rows: Sequence[TensorReport], cut_off: Collection[str]) -> None:
    places = range(len(rows))
    panel.barh(places, [100.0] * len(rows), height=0.68, color=TRACK)
    dead = [layer_of(row.name) in cut_off for row in rows]
    panel.barh(
        places,
        [100 * row.density for row in rows],
        height=0.68,
        color=[CUT_OFF if one else KEPT for one in dead],
        hatch=["////" if one else "" for one in dead],
        edgecolor="white",
        linewidth=0,
    )
    for place, row, one in zip(places, rows, dead, strict=True):
        panel.text(
            103,
            place,
            f"{row.kept:,} ({100 * row.density:.3g} %)" + (" cut off" if one else ""),
            va="center",
            color=CUT_OFF if one else "black",
            fontweight="bold" if one else "normal",
        )
    # The room at the right holds the numbers.
    panel.set_xlim(0, 175)
    panel.set_xticks([0, 25, 50, 75, 100])
    panel.set_xlabel("kept (%)", loc="left")
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.spines["bottom"].set_bounds(0, 100)


def _mark_overall(panel: Axes, mask: Mask, sparsity: float) -> None:
    panel.axvline(100 * mask.density, color=OVERALL, linewidth=1, linestyle=(0, (4, 2)))
    panel.set_title(
        f"sparsity {sparsity:g}: {mask.kept:,} of {mask.parameters:,} kept (dashed)", loc="left", fontsize=9
    )


def _label(row: TensorReport) -> str:
    return f"{row.name}  {'x'.join(map(str, row.shape))}"
