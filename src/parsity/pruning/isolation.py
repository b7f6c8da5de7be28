"""Working on a network without leaving a trace in it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def isolated(network: nn.Module, *, seed: int) -> Iterator[nn.Module]:
    """Yield a private copy of ``network`` whose every parameter takes a gradient; buffers and mode are copied too.

    torch's generators start from ``seed`` meanwhile, for networks with dropout, and are put back afterwards.
    """
    devices = sorted({p.device.index for p in network.parameters() if p.device.type == "cuda"})
    with torch.random.fork_rng(devices=devices), torch.enable_grad():
        torch.manual_seed(seed)
        private = copy.deepcopy(network).requires_grad_(True)
        private.zero_grad(set_to_none=True)
        yield private
