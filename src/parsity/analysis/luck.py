"""How much of its luck a trial keeps from cell to cell, told from the trials' ranks.

A trial's number fixes its metaparameters, initial weights and data order in every cell, so a trial that does well in
one cell tends to do well in others: their luck is partly shared. Let the luck of trial i in cell j be

    z_ij = sqrt(r) a_i + sqrt(1 - r) e_ij,    a, e standard normal,

and its rank in the cell that of its steps (a Gaussian copula: nothing is said of how steps are distributed). ``r`` is
the one at which made-up cells agree on the ranks as much as the measured ones do. The agreement is the correlation of
digamma(rank), which is the logarithm of a trial's height in its cell up to a constant: it weighs the best trials most,
and they are what K* is made of. Trials that are not complete share the ranks above the complete ones, in the made-up
cells as in the measured, so that how many there are does not change r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from parsity.analysis.curve import CurveCell
from parsity.analysis.estimate import Floats

TRIED = np.linspace(0, 1, 11)
COLUMNS = 400
"""About how many made-up cells each r is tried on."""


def shared_luck(cells: Sequence[CurveCell]) -> float:
    """``r`` as the ranks in all pairs of ``cells`` tell it; 1 where no two cells with a complete trial share trials."""
    cells = [cell for cell in cells if cell.complete and cell.n > 1]
    numbers = sorted({number for cell in cells for number in cell.numbers})
    row = {number: place for place, number in enumerate(numbers)}
    ranks = np.full((len(numbers), len(cells)), math.nan)
    for column, cell in enumerate(cells):
        steps = {point.number: float(point.step) for point in cell.complete}
        ends = np.array([steps.get(number, math.inf) for number in cell.numbers])
        _, place, ties = np.unique(ends, return_inverse=True, return_counts=True)
        ranks[[row[number] for number in cell.numbers], column] = (ties.cumsum() - (ties - 1) / 2)[place]
    present = ~np.isnan(ranks)
    if (present.sum(axis=1) < 2).all():
        return 1.0
    complete = np.array([len(cell.complete) for cell in cells])
    rng = np.random.default_rng(0)
    times = math.ceil(COLUMNS / len(cells))
    common = rng.standard_normal((times, len(numbers), 1))
    own = rng.standard_normal((times, *ranks.shape))
    found = [
        _agreement(_ranks(math.sqrt(r) * common + math.sqrt(1 - r) * own, present, complete), present).mean()
        for r in TRIED
    ]
    return float(np.interp(_agreement(ranks[None], present)[0], np.maximum.accumulate(found), TRIED))


def _ranks(luck: Floats, present: NDArray[np.bool_], complete: NDArray[np.int_]) -> Floats:
    """The ranks of ``luck`` in each column, those beyond ``complete`` being one tie."""
    luck = np.where(present, luck, math.inf)
    ranks = luck.argsort(axis=1).argsort(axis=1) + 1.0
    tied = (complete + 1 + present.sum(axis=0)) / 2
    found: Floats = np.where(ranks > complete, tied, ranks)
    return found


def _agreement(ranks: Floats, present: NDArray[np.bool_]) -> Floats:
    """The correlation of digamma(rank), in the mean over all pairs of columns and the rows that both have."""
    scores = np.where(present, digamma(np.where(present, ranks, 1.0)), 0.0)
    scores = np.where(present, scores - scores.sum(axis=1, keepdims=True) / present.sum(axis=0), 0.0)
    spread = np.sqrt((scores**2).sum(axis=1, keepdims=True) / present.sum(axis=0))
    scores = scores / np.where(spread > 0, spread, 1.0)
    # The sum of products over all pairs of columns, from the sums over rows.
    products = (scores.sum(axis=2) ** 2 - (scores**2).sum(axis=2)).sum(axis=1)
    each = present.sum(axis=1)
    found: Floats = products / (each**2 - each).sum()
    return found
