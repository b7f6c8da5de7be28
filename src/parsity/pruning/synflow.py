"""SynFlow: iterative conservation of synaptic flow (Tanaka, Kunin, Yamins & Ganguli, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from parsity.errors import UsageError
from parsity.pruning.criterion import LabelledBatches
from parsity.pruning.isolation import isolated


@dataclass(frozen=True)
class SynFlow:
    """Score = |w| · dR/d|w|, with R = the sum of the outputs of the network of absolute values for an input of ones.

    In a network of ReLUs it is the total weight of all paths through w, so that every layer carries the same total
    and pruning in many rounds (100 in the paper) never cuts one off before it must. No data is needed: the first
    batch says what shape an image has. In double precision, since R grows as the product of the layers' widths.
    """

    rounds: int = 100

    def scores(self, network: nn.Module, batches: LabelledBatches, *, seed: int = 0) -> Tensor:
        """Return |w| dR/d|w| of every parameter, in float64."""
        first = next(iter(batches), None)
        if first is None:
            raise UsageError("synflow needs one batch, to know the shape of an image")
        with isolated(network, seed=seed) as private:
            private.double().eval()
            with torch.no_grad():
                for tensor in chain(private.parameters(), private.buffers()):
                    if tensor.is_floating_point():
                        tensor.abs_()
            parameters = list(private.parameters())
            ones = torch.ones((1, *first[0].shape[1:]), dtype=torch.float64, device=parameters[0].device)
            flows = torch.autograd.grad(private(ones).sum(), parameters, materialize_grads=True)
            return torch.cat([(p.detach() * flow).reshape(-1) for p, flow in zip(parameters, flows, strict=True)])
