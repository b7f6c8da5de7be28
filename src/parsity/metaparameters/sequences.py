"""Low-discrepancy sequences by index: point i never depends on how many points are asked for."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from parsity.errors import UsageError

Sequence = Literal["sobol", "halton"]
SEQUENCES: tuple[str, ...] = get_args(Sequence)


def points(dimensions: int, first: int, count: int, *, sequence: Sequence = "sobol") -> NDArray[np.float64]:
    """Points ``first`` .. ``first + count - 1`` of the unscrambled sequence in the unit cube, (count, dimensions).

    Index 0 is the origin, which maps every metaparameter to an end of its range; a search starts at index 1. In one
    and two dimensions the Sobol points are those of the paper's program; beyond, the direction numbers are SciPy's.
    """
    # SciPy's statistics take half a second to import: only those who draw points pay.
    from scipy.stats import qmc

    if sequence not in SEQUENCES:
        raise UsageError(f"sequence {sequence!r}: allowed are {', '.join(SEQUENCES)}")
    if dimensions < 1 or first < 0 or count < 0:
        raise UsageError(f"points({dimensions}, {first}, {count}): needs dimensions >= 1, first >= 0, count >= 0")
    if not count:
        return np.empty((0, dimensions))
    if sequence == "sobol":
        # One power of two is drawn and cut, for SciPy warns at any other number; that matters to integrals only.
        block = qmc.Sobol(dimensions, scramble=False).random_base2((first + count - 1).bit_length())
        return np.asarray(block[first:][:count], dtype=np.float64)
    halton = qmc.Halton(dimensions, scramble=False)
    halton.fast_forward(first)
    return np.asarray(halton.random(count), dtype=np.float64)
