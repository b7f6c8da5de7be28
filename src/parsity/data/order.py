"""Which images are for validation, and in which order the others are trained on."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import torch
from torch import Tensor

from parsity.errors import UsageError

# The one fixed permutation of the protocol. Changing this number changes every result ever measured.
SPLIT_SEED = 20210503


class Split(NamedTuple):
    """Indices into the training file: what is trained on, and what the goal test asks about."""

    train: Tensor
    validation: Tensor


def split(count: int, fraction: float = 0.1) -> Split:
    """Hold ``fraction`` of ``count`` images out for validation: the first ones of one fixed permutation.

    60,000 images give 54,000 and 6,000; 50,000 give 45,000 and 5,000. The result depends on nothing else.
    """
    held_out = round(count * fraction)
    if not 0 < held_out < count:
        raise UsageError(
            f"split: {fraction} of {count} images leaves {count - held_out} to train on and {held_out} to "
            "validate with; both must be at least 1"
        )
    permutation = torch.randperm(count, generator=torch.Generator().manual_seed(SPLIT_SEED))
    return Split(train=permutation[held_out:], validation=permutation[:held_out])


class Batches:
    """The order of the data, as a pure function of the step: one permutation after another.

    A batch may straddle two passes, or many when it is larger than the data. Pass p's permutation is drawn
    from a generator seeded by (seed, p), so any step can be asked for directly and resuming needs no state.
    All that is remembered is the permutation last used, which makes consecutive steps one slice each.
    """

    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        if count < 1:
            raise UsageError(f"batches: there are {count} images to draw from; at least 1 is needed")
        if batch_size < 1:
            raise UsageError(f"batches: the batch size is {batch_size}; it must be at least 1")
        self.count = count
        self.batch_size = batch_size
        self.seed = seed
        self._remembered = 0
        self._permutation = _permutation(count, seed, 0)

    def indices(self, step: int) -> Tensor:
        """Return the ``batch_size`` indices of ``step``, counted from 0. Do not write into the result."""
        start = step * self.batch_size - self._remembered * self.count
        stop = start + self.batch_size
        if start >= 0 and stop <= self.count:
            return self._permutation[start:stop]
        return self._gathered(step)

    def _gathered(self, step: int) -> Tensor:
        if step < 0:
            raise UsageError(f"batches: there is no step {step}; the first is 0")
        start, stop = step * self.batch_size, (step + 1) * self.batch_size
        pieces = []
        for number in range(start // self.count, (stop - 1) // self.count + 1):
            if number != self._remembered:
                self._permutation = _permutation(self.count, self.seed, number)
                self._remembered = number
            first = number * self.count
            pieces.append(self._permutation[max(start - first, 0) : stop - first])
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def _permutation(count: int, seed: int, number: int) -> Tensor:
    # Hashed: neighbouring seeds must not give related streams, nor (1, 2) what (2, 1) gives.
    digest = hashlib.sha256(f"parsity batches: seed {seed}, pass {number}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big"))
    return torch.randperm(count, generator=generator)
