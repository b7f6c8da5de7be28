"""From a name, an import path or a callable to an initialised network."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from parsity.errors import UsageError
from parsity.extensions import resolve

NetworkFactory = Callable[[], nn.Module]

NETWORKS = {
    "simple-cnn": "parsity.models:SimpleCNN",
    "resnet-8": "parsity.models:ResNet8",
    "digits-cnn": "parsity.models:DigitsCNN",
}


def make_network(network: str | NetworkFactory, *, seed: int) -> nn.Module:
    """Build ``network`` with the initial weights of ``seed``; the same seed gives the same weights.

    ``network`` is a name in `NETWORKS`, an import path (``package.module:function``) or a callable without arguments.
    torch's global generator is seeded while it is built and restored afterwards.
    """
    factory = resolve("networks", network, NETWORKS) if isinstance(network, str) else network
    if not callable(factory):
        raise UsageError(f"network {network!r}: expected a callable that builds a torch.nn.Module, found {factory!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = factory()
    if not isinstance(module, nn.Module):
        raise UsageError(f"network {network!r}: it must build a torch.nn.Module, but gave {type(module).__name__}")
    return module
