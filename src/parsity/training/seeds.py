"""Where randomness comes from: one study seed, and from it a seed for each purpose of each trial."""

from __future__ import annotations

import hashlib
from typing import Literal

Purpose = Literal["weights", "order", "pruning", "network", "noise", "curvature"]


def derived_seed(seed: int, purpose: Purpose, trial: int) -> int:
    """A seed of 62 bits, the same on every machine; batch size and sparsity have no part in it.

    So trial number i begins with the same weights and sees the same order of data in every cell.
    """
    text = f"parsity {seed} {purpose} {trial}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 2
