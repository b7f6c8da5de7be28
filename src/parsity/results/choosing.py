"""Which engine computes a cell, and what that was decided by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

How = Literal["measured", "remembered", "given", "kept"]


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """The engine of one cell, whoever runs its trials and whenever.

    ``how``: "measured", by a calibration just before the cell's first step; "remembered", by one of the same network,
    batch size and sparsity on this machine before; "given", where only one engine can run the network, or where the
    device has an order of its own; "kept", of a cell whose results are older than such notes.
    """

    engine: str
    how: How
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By engine, the median seconds of a training step, in the calibration."""
    images: int = 0
    """How many images that step had: the batch size, or one slice of a larger batch."""
