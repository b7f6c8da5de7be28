"""Figures as files: the same figure is the same bytes."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Literal, get_args

from matplotlib.figure import Figure
from PIL import Image

from parsity.report.figures.style import house_style
from parsity.whole_file import write_whole

Format = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = get_args(Format)
# No dates, no versions.
_METADATA: dict[Format, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "Parsity"},
    "pdf": {"CreationDate": None, "Creator": "Parsity", "Producer": None},
    "png": {"Software": None},
}


def encode(figure: Figure, form: Format, *, dpi: int = 200, **changes: Any) -> bytes:
    """The figure in one format; ``changes`` are matplotlib settings."""
    image = io.BytesIO()
    with house_style(**changes):
        figure.savefig(image, format=form, dpi=dpi, metadata=_METADATA[form])
    return _fewer_colours(image) if form == "png" else image.getvalue()


def _fewer_colours(image: io.BytesIO) -> bytes:
    """The same picture in 256 colours, in a third of the bytes."""
    small = io.BytesIO()
    with Image.open(image) as full:
        found = full.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        found.save(small, format="png", optimize=True, dpi=full.info["dpi"])
    return small.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write the figure in the format its name ends in, whole or not at all."""
    form = next(one for one in FORMATS if path.suffix == f".{one}")
    write_whole(path, encode(figure, form))


def stem(study: str, kind: str, goal: float | None = None) -> str:
    """What a figure's file is called: ``mnist-momentum-scaling``, with the goal where there are several."""
    name = re.sub(r"[^a-z0-9.]+", "-", study.lower()).strip("-.") or "study"
    return f"{name}-{kind}" if goal is None else f"{name}-{kind}-goal-{goal:g}"
