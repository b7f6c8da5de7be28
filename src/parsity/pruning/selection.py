"""From scores to a choice: which entries take part, how many of them stay, and which."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

from parsity.errors import UsageError
from parsity.pruning.layout import Layout

Eligible = Literal["all", "weights"] | Collection[str]


def check_sparsity(sparsity: float) -> float:
    """Return ``sparsity`` if it is at least 0 and below 1."""
    if not 0 <= sparsity < 1:
        raise UsageError(f"sparsity {sparsity:g} is not possible; it must be at least 0 and below 1")
    return sparsity


def kept_number(number: int, sparsity: float) -> int:
    """Return k = round(n (1 - S)), as the authors' program has it: in double precision, exact halves to even."""
    return round(number * (1 - check_sparsity(sparsity)))


def eligible_entries(network: nn.Module, eligible: Eligible = "all") -> Tensor:
    """Return a flat boolean vector: which entries take part in pruning.

    "all" is every parameter, weights and biases, as in the paper. "weights" leaves out tensors of fewer than two
    dimensions: biases, and the gains of normalisation layers. A collection of parameter names is taken as it is.
    """
    layout = Layout.of(network)
    if isinstance(eligible, str):
        if eligible not in ("all", "weights"):
            raise UsageError(f"eligible: {eligible!r} is not known; allowed are all, weights, or parameter names")
        chosen = [eligible == "all" or len(shape) > 1 for shape in layout.shapes]
    else:
        if missing := sorted(set(eligible) - set(layout.names)):
            raise UsageError(f"eligible: the network has no parameter {missing[0]!r}; it has {', '.join(layout.names)}")
        chosen = [name in eligible for name in layout.names]
    return torch.tensor(chosen).repeat_interleave(torch.tensor(layout.sizes, dtype=torch.long))


def select(scores: Tensor, sparsity: float, eligible: Tensor | None = None) -> Tensor:
    """Keep exactly k = round(n (1 - S)) of the n entries that take part: those of the highest scores.

    Among equal scores the lower index stays. Entries that do not take part are kept whole and not counted in n.
    Returns a flat boolean vector.
    """
    if eligible is None:
        eligible = torch.ones(scores.shape, dtype=torch.bool)
    return highest(scores, kept_number(int(eligible.sum()), sparsity), among=eligible) | ~eligible


def highest(scores: Tensor, number: int, *, among: Tensor) -> Tensor:
    """Mark the ``number`` highest ``scores`` among the entries marked; of equal ones, those of lower index."""
    scores = scores.detach().cpu()
    if scores.dim() != 1 or among.shape != scores.shape:
        raise UsageError(
            f"scores are one flat vector over all parameters, not {tuple(scores.shape)} for {among.numel()} entries"
        )
    indices = among.nonzero().squeeze(1)
    candidates = scores[indices]
    if not bool(candidates.isfinite().all()):
        position = int(indices[~candidates.isfinite()][0])
        raise UsageError(
            f"scores must be finite, but entry {position} has {float(scores[position])}; "
            "the network's loss or weights overflow at initialisation"
        )
    kept = torch.zeros_like(among)
    if number == 0:
        return kept
    threshold = candidates.kthvalue(len(candidates) - number + 1).values
    above = candidates > threshold
    tied = (candidates == threshold).nonzero().squeeze(1)
    kept[indices[above]] = True
    kept[indices[tied[: number - int(above.sum())]]] = True
    return kept
