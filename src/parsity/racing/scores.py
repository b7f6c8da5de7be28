"""One pass of scores for each trial number, kept on disk and shared by all cells and sparsities."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from parsity.data import Dataset
from parsity.pruning import (
    Mask,
    check_sparsity,
    eligible_entries,
    find_criterion,
    flatten,
    prune,
    scores,
    select,
)
from parsity.training import Workload, scoring_batches
from parsity.whole_file import write_whole


class Shelf(Protocol):
    """Where files are kept by name, when that is not a folder of this machine."""

    def read(self, name: str) -> bytes | None:
        """The contents; None where nothing is kept under that name."""

    def write(self, name: str, contents: bytes) -> None:
        """Keep them, whole or not at all."""


class Scores:
    """Scores by what they depend on: the network's code and weights, the data, the criterion, the seed.

    The file's name is the digest of all that, so a folder may be shared by any number of studies and processes;
    its first line is the digest of the contents, and a file that does not match it is computed anew.
    """

    def __init__(self, kept: Path | Shelf | None = None) -> None:
        """``kept`` is a folder or what stands for one; nothing is kept without."""
        self._shelf = _Folder(kept) if isinstance(kept, Path) else kept

    def mask(self, workload: Workload, network: nn.Module, dataset: Dataset, *, sparsity: float, seed: int) -> Mask:
        """The mask that prunes ``network`` at its present weights."""
        if check_sparsity(sparsity) == 0:
            return Mask.dense(network)
        criterion, batches = find_criterion(workload.criterion), scoring_batches(dataset)
        if criterion.rounds > 1:
            return prune(
                network, batches, sparsity=sparsity, criterion=criterion, eligible=workload.eligible, seed=seed
            )
        name = _name(workload, network, dataset, seed)
        found = _decode(self._shelf.read(name)) if self._shelf is not None else None
        if found is None:
            found = scores(network, batches, criterion=criterion, seed=seed)
            if self._shelf is not None:
                self._shelf.write(name, _encode(found))
        return Mask.of(network, select(found, sparsity, eligible_entries(network, workload.eligible)))


@dataclass(frozen=True)
class _Folder:
    path: Path

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, contents: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / name, contents)


def _name(workload: Workload, network: nn.Module, dataset: Dataset, seed: int) -> str:
    digest = hashlib.sha256()
    digest.update(f"{workload.criterion}\n{seed}\n{dataset.digest}\n{network}\n".encode())
    digest.update(f"{type(network).__module__}.{type(network).__qualname__}\n".encode())
    for tensor in (flatten(network), *(buffer.flatten() for buffer in network.buffers())):
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return f"{digest.hexdigest()[:40]}.scores"


def _encode(found: Tensor) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, found.numpy(), allow_pickle=False)
    return hashlib.sha256(buffer.getvalue()).hexdigest().encode() + b"\n" + buffer.getvalue()


def _decode(kept: bytes | None) -> Tensor | None:
    digest, _, contents = (kept or b"").partition(b"\n")
    if not contents or hashlib.sha256(contents).hexdigest().encode() != digest:
        return None
    return torch.from_numpy(np.load(io.BytesIO(contents), allow_pickle=False))
