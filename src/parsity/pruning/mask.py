"""A mask: one bit per parameter, 1 where the entry survives."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from parsity.errors import DamagedError, UsageError
from parsity.pruning.layout import Layout
from parsity.whole_file import write_whole

MAGIC = b"parsity mask 1 "


@dataclass(frozen=True)
class TensorReport:
    """What is left of one tensor."""

    name: str
    shape: tuple[int, ...]
    parameters: int
    kept: int

    @property
    def density(self) -> float:
        """The fraction kept."""
        return self.kept / self.parameters if self.parameters else 1.0


@dataclass(frozen=True)
class Mask:
    """Which entries of a network's flat vector survive, in 1/32 of the memory of its weights.

    ``bits`` holds eight entries per byte, the first in the highest bit, and zeros after the last. Masks are equal
    when names, shapes and bits are.
    """

    layout: Layout
    bits: bytes

    def __post_init__(self) -> None:
        total = self.layout.total
        spare = -total % 8
        if len(self.bits) != (total + 7) // 8 or (spare and self.bits[-1] & ((1 << spare) - 1)):
            raise UsageError(f"{len(self.bits)} bytes are not the mask of {total} parameters")

    @classmethod
    def of(cls, network: nn.Module, kept: Tensor) -> Mask:
        """Make a mask for ``network`` from a flat vector of booleans, true where an entry survives."""
        layout = Layout.of(network)
        if kept.dtype != torch.bool or kept.shape != (layout.total,):
            raise UsageError(
                f"a mask of {layout.total} parameters needs as many booleans, not {tuple(kept.shape)} of {kept.dtype}"
            )
        return cls(layout, np.packbits(kept.cpu().numpy()).tobytes())

    @classmethod
    def dense(cls, network: nn.Module) -> Mask:
        """Make the mask that keeps everything."""
        return cls.of(network, torch.ones(Layout.of(network).total, dtype=torch.bool))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tensors, in the order of the flat vector."""
        return self.layout.names

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the tensors, in the same order."""
        return self.layout.shapes

    @property
    def flat(self) -> Tensor:
        """The mask as one boolean vector."""
        bits = np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), count=self.layout.total)
        return torch.from_numpy(bits.astype(np.bool_))

    def tensors(self) -> dict[str, Tensor]:
        """Return the mask as boolean tensors by name."""
        return self.layout.split(self.flat)

    @property
    def parameters(self) -> int:
        """The number of entries, kept or not."""
        return self.layout.total

    @property
    def kept(self) -> int:
        """The number of surviving entries."""
        return int.from_bytes(self.bits).bit_count()

    @property
    def density(self) -> float:
        """The fraction of all entries that survives."""
        return self.kept / self.parameters if self.parameters else 1.0

    @property
    def sparsity(self) -> float:
        """The fraction of all entries that is pruned."""
        return 1 - self.density

    @property
    def digest(self) -> str:
        """Sha256 over names, shapes and bits."""
        return hashlib.sha256(self._content()).hexdigest()

    def report(self) -> list[TensorReport]:
        """Say what is left of each tensor."""
        tensors = self.tensors()
        return [TensorReport(name, tuple(kept.shape), kept.numel(), int(kept.sum())) for name, kept in tensors.items()]

    @torch.no_grad()
    def apply_(self, network: nn.Module) -> None:
        """Set the pruned entries of ``network`` to exactly 0, in place."""
        if Layout.of(network) != self.layout:
            raise UsageError("the mask was made for a network with other parameters; names and shapes must agree")
        tensors = self.tensors()
        for name, parameter in network.named_parameters():
            # Not a product: that would leave -0 and not-a-number behind.
            parameter.masked_fill_(~tensors[name].to(parameter.device), 0)

    def save(self, path: Path | str) -> None:
        """Write the mask to ``path``, whole or not at all."""
        write_whole(Path(path), self._file())

    @classmethod
    def load(cls, path: Path | str) -> Mask:
        """Read what `save` wrote; anything but exactly that is refused."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise UsageError(f"mask {path}: cannot be read: {error.strerror}") from error
        try:
            # Bits may hold newlines; the two lines before them may not.
            first, header, bits = data.split(b"\n", 2)
            names, shapes = json.loads(header)
            mask = cls(Layout(tuple(names), tuple(tuple(shape) for shape in shapes)), bits)
            # Every byte counts: what does not encode to itself was changed.
            whole = mask._file() == data
        except (ValueError, TypeError, UsageError) as error:
            raise DamagedError(f"mask {path}: damaged, or not a mask file") from error
        if not whole:
            raise DamagedError(f"mask {path}: damaged: its content does not match its digest {first[-64:]!r}")
        return mask

    def _content(self) -> bytes:
        header = json.dumps([self.names, self.shapes], separators=(",", ":"))
        return header.encode() + b"\n" + self.bits

    def _file(self) -> bytes:
        """One line with what this is and its digest, one line of JSON with names and shapes, the packed bits."""
        return MAGIC + self.digest.encode() + b"\n" + self._content()
