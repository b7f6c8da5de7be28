"""A contact sheet: one row of pictures per class."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from parsity.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from parsity.data.dataset import Dataset

_MARGIN, _GAP = 40, 8
MOST_A_ROW = 256
_INK, _FAINT = (24, 28, 36), (120, 126, 138)


def contact_sheet(data: Dataset, *, count: int = 16, title: str | None = None) -> bytes:
    """Return a PNG of the first ``count`` training images of every class, in file order."""
    if not 1 <= count <= MOST_A_ROW:
        raise UsageError(f"contact sheet: {count} pictures a row; allowed are 1 to {MOST_A_ROW}")
    title = title or data.name
    rows = [torch.nonzero(data.labels == number).flatten() for number in range(len(data.classes))]
    height, width = data.images.shape[2:]
    zoom = max(1, round(64 / max(height, width)))  # whole, so that every pixel stays a square
    across, down = width * zoom + _GAP, height * zoom + _GAP
    label, small, heading = _font(20), _font(14), _font(30)
    left = _MARGIN + max(round(label.getlength(name)) for name in (*data.classes, "00,000")) + 32
    top = _MARGIN + 84
    caption = (
        f"{len(data.images):,} training images"
        + (f", {len(data.test_images):,} test images" if data.test_images is not None else "")
        + f"  ·  {width} by {height} pixels, {'grey' if data.images.shape[1] == 1 else 'colour'}"
        + f"  ·  {len(rows)} classes"
    )
    right = max(left + count * across - _GAP, _MARGIN + round(max(heading.getlength(title), small.getlength(caption))))
    sheet = Image.new("RGB", (right + _MARGIN, top + len(rows) * down - _GAP + _MARGIN), "white")
    draw = ImageDraw.Draw(sheet)
    draw.text((_MARGIN, _MARGIN - 6), title, font=heading, fill=_INK)
    draw.text((_MARGIN, _MARGIN + 36), caption, font=small, fill=_FAINT)
    for number, (name, indices) in enumerate(zip(data.classes, rows, strict=True)):
        y = top + number * down
        middle = y + (down - _GAP) // 2
        draw.text((_MARGIN, middle - 1), name, font=label, fill=_INK, anchor="ls")
        draw.text((_MARGIN, middle + 18), f"{len(indices):,}", font=small, fill=_FAINT, anchor="ls")
        for column, picture in enumerate(_pictures(data, data.images[indices[:count]])):
            large = picture.resize((width * zoom, height * zoom), Image.Resampling.NEAREST)
            sheet.paste(large, (left + column * across, y))
    out = io.BytesIO()
    sheet.save(out, format="PNG", optimize=True)
    return out.getvalue()


def _pictures(data: Dataset, images: Tensor) -> list[Image.Image]:
    """Bytes to look at: dark ink on white paper for one channel, colours for three."""
    if images.shape[1] not in (1, 3):
        images = images[:, :1]
    values = images.to(torch.float64) / data.scale
    if data.images.dtype != torch.uint8:
        low, high = data.images.min().double(), data.images.max().double()
        values = (images.to(torch.float64) - low) / (high - low).clamp(min=1e-12)
    if images.shape[1] == 1:
        values = 1 - values
    pixels = (values.clamp(0, 1) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    return [Image.fromarray(np.ascontiguousarray(one).squeeze(-1) if one.shape[-1] == 1 else one) for one in pixels]


def _font(size: int) -> ImageFont.FreeTypeFont:
    # The one font that comes with a dependency and writes more than Latin letters.
    from matplotlib import font_manager

    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), size)
