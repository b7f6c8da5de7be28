"""GraSP: preserving the gradient's flow (Wang, Zhang & Grosse, 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parsity.pruning.criterion import LabelledBatches
from parsity.pruning.gradients import prepare, summed_gradient
from parsity.pruning.isolation import isolated
from parsity.pruning.layout import Layout, flatten


@dataclass(frozen=True)
class GraSP:
    """Score = w · (H g), with g the gradient and H the Hessian of the loss summed over batches.

    Moving the weights by delta changes the gradient's squared norm by 2 deltaᵀ H g to first order, and removal is
    delta = -w. The paper's own score is that of removal, S(-w) = -w · (H g), and it prunes where S is highest: there
    the norm shrinks least, or grows. Here a high score is one to keep, so the sign is turned. It is not an absolute
    value: scores are negative where removal increases the flow.

    The logits are divided by ``temperature``, 200 in the paper, so that the confidence of an untrained network plays
    no part. 1 is the ordinary loss.
    """

    temperature: float = 200.0
    rounds: int = 1

    def scores(self, network: nn.Module, batches: LabelledBatches, *, seed: int = 0) -> Tensor:
        """Return weight x (Hessian x gradient) of every parameter."""
        cooled = _Cooled(network, self.temperature)
        gradient = summed_gradient(cooled, batches, seed=seed)
        return flatten(network) * _hessian_product(cooled, batches, gradient, seed=seed)


class _Cooled(nn.Module):
    """A network with its logits divided by a temperature; its parameters keep their order."""

    def __init__(self, network: nn.Module, temperature: float) -> None:
        super().__init__()
        self.network = network
        self.temperature = temperature

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images)
        return logits / self.temperature


def _hessian_product(network: nn.Module, batches: LabelledBatches, vector: Tensor, *, seed: int) -> Tensor:
    """Sum over batches of H v: the gradient of (gradient · v) with v held fixed."""
    total = torch.zeros_like(vector)
    directions = list(Layout.of(network).split(vector).values())
    with isolated(network, seed=seed) as private:
        parameters = list(private.parameters())
        for images, labels in batches:
            inputs, targets = prepare(private, images, labels)
            loss = F.cross_entropy(private(inputs), targets)
            gradients = torch.autograd.grad(loss, parameters, create_graph=True, materialize_grads=True)
            slope = torch.stack([(g * v).sum() for g, v in zip(gradients, directions, strict=True)]).sum()
            products = torch.autograd.grad(slope, parameters, materialize_grads=True)
            total += torch.cat([product.reshape(-1) for product in products])
    return total
