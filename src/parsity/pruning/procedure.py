"""Pruning at initialisation: from a network and batches to masks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from torch import Tensor, nn

from parsity.errors import UsageError
from parsity.pruning.criterion import Criterion, LabelledBatches, find_criterion
from parsity.pruning.flow import cut_off_layers
from parsity.pruning.isolation import isolated
from parsity.pruning.layout import Layout
from parsity.pruning.mask import Mask
from parsity.pruning.selection import (
    Eligible,
    check_sparsity,
    eligible_entries,
    highest,
    kept_number,
    select,
)

logger = logging.getLogger(__name__)


def prune(
    network: nn.Module,
    batches: LabelledBatches,
    *,
    sparsity: float,
    criterion: str | Criterion = "snip",
    eligible: Eligible = "all",
    seed: int = 0,
) -> Mask:
    """Return the mask that prunes ``network`` to ``sparsity``; the network itself is left as it is.

    A layer that is cut off by it is named in a warning. `Mask.apply_` does the pruning.
    """
    found = masks(network, batches, [sparsity], criterion=criterion, eligible=eligible, seed=seed)
    return found[sparsity]


def masks(
    network: nn.Module,
    batches: LabelledBatches,
    sparsities: Iterable[float],
    *,
    criterion: str | Criterion = "snip",
    eligible: Eligible = "all",
    seed: int = 0,
) -> dict[float, Mask]:
    """Return a mask for each of ``sparsities``; a single-shot criterion is scored once for all of them.

    ``sparsity`` counts the entries that take part: see `select`. ``seed`` matters where something is random.
    """
    if isinstance(batches, Iterator):
        raise UsageError("batches are gone through several times; give a list, or an object that starts anew")
    wanted = [check_sparsity(sparsity) for sparsity in sparsities]
    chosen = find_criterion(criterion)
    entries = eligible_entries(network, eligible)
    image = next((images[0] for images, _ in batches), None)
    shared = scores(network, batches, criterion=chosen, seed=seed) if chosen.rounds == 1 and any(wanted) else None
    found = {}
    for sparsity in wanted:
        if sparsity == 0:
            mask = Mask.dense(network)
        elif shared is not None:
            mask = Mask.of(network, select(shared, sparsity, entries))
        else:
            mask = _in_rounds(network, batches, sparsity, chosen, entries, seed)
        if image is not None:
            warn_of_cut_off_layers(network, mask, image)
        found[sparsity] = mask
    return found


def scores(
    network: nn.Module, batches: LabelledBatches, *, criterion: str | Criterion = "snip", seed: int = 0
) -> Tensor:
    """Return the scores of ``criterion`` for ``network`` as it is: one per entry of the flat vector."""
    found = find_criterion(criterion).scores(network, batches, seed=seed)
    if found.shape != (Layout.of(network).total,):
        raise UsageError(
            f"criterion {criterion}: it must give one score for each of {Layout.of(network).total} parameters, "
            f"but gave {tuple(found.shape)}"
        )
    return found


def warn_of_cut_off_layers(network: nn.Module, mask: Mask, image: Tensor) -> tuple[str, ...]:
    """Return the layers ``mask`` cuts off, and log a warning that names each."""
    layers = cut_off_layers(network, mask, image)
    for layer in layers:
        logger.warning(
            "layer %s is cut off at sparsity %.4g: no path from input to output goes through it",
            layer,
            mask.sparsity,
        )
    return layers


def _in_rounds(
    network: nn.Module,
    batches: LabelledBatches,
    sparsity: float,
    criterion: Criterion,
    entries: Tensor,
    seed: int,
) -> Mask:
    """Prune to density (1 - S)^(i/R) in round i of R, scoring what is left anew each time."""
    if criterion.rounds < 1:
        raise UsageError(f"criterion {criterion}: rounds must be at least 1")
    number = int(entries.sum())
    survivors = entries
    mask = Mask.dense(network)
    for i in range(1, criterion.rounds + 1):
        with isolated(network, seed=seed) as pruned:
            mask.apply_(pruned)
            found = scores(pruned, batches, criterion=criterion, seed=seed)
        density = (1 - sparsity) ** (i / criterion.rounds)
        keep = kept_number(number, sparsity) if i == criterion.rounds else round(number * density)
        # What is pruned stays pruned, whatever its score.
        survivors = highest(found, keep, among=survivors)
        mask = Mask.of(network, survivors | ~entries)
    return mask
