"""Connectivity: whether every layer still lies on a path from input to output."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from parsity.pruning.isolation import isolated
from parsity.pruning.layout import Layout
from parsity.pruning.mask import Mask

_NORMALISATIONS = (_NormBase, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm)


def flow(network: nn.Module, mask: Mask, image: Tensor) -> Tensor:
    """Return a flat float64 vector that is 0 exactly where an entry is on no surviving path from input to output.

    The network is run on positive numbers with positive weights where ``mask`` keeps one, 0 elsewhere and in the
    biases, and with every normalisation reduced to its gain; the flow through w is w · d(sum of outputs)/dw, a sum of
    products over the paths through w. Positive numbers cannot cancel; they are random so that nothing
    else, a final softmax say, does it for them. Activations must map 0 to 0 and rise above it, as ReLU and its kin do.
    """
    kept = mask.tensors()
    with isolated(network, seed=0) as private:
        private.double().eval()
        _reduce_normalisations(private)
        with torch.no_grad():
            for name, parameter in private.named_parameters():
                parameter.copy_(_positive(name, kept[name]))
        image = torch.rand(image.shape, dtype=torch.float64, device=next(private.parameters()).device) + 0.5
        total = private(image.unsqueeze(0)).sum()
        parameters = list(private.parameters())
        flows = torch.autograd.grad(total, parameters, materialize_grads=True)
        return torch.cat([(p.detach() * part).reshape(-1) for p, part in zip(parameters, flows, strict=True)])


def cut_off_layers(network: nn.Module, mask: Mask, image: Tensor) -> tuple[str, ...]:
    """Name the layers no surviving path from input to output goes through, in the network's order.

    ``image`` is one input, without the batch's dimension; only its shape counts. A layer that shows no flow even when
    nothing is pruned cannot be judged this way, and is never named.
    """
    if mask.kept == mask.parameters:
        return ()
    before = _layers_with_flow(network, Mask.dense(network), image)
    after = _layers_with_flow(network, mask, image)
    return tuple(layer for layer in before if layer not in after)


def layer_of(name: str) -> str:
    """Return the layer a parameter belongs to: "conv1" for "conv1.weight"."""
    return name.rpartition(".")[0] or name


def _layers_with_flow(network: nn.Module, mask: Mask, image: Tensor) -> list[str]:
    tensors = Layout.of(network).split(flow(network, mask, image))
    return list(dict.fromkeys(layer_of(name) for name, part in tensors.items() if bool(part.any())))


def _positive(name: str, kept: Tensor) -> Tensor:
    """Return positive numbers where ``kept``, of such size that activations neither grow nor vanish with depth."""
    if kept.dim() < 2:
        is_bias = "bias" in name.rpartition(".")[2]
        return torch.zeros(kept.shape, dtype=torch.float64) if is_bias else kept.double()
    per_output = max(1.0, int(kept.sum()) / len(kept))
    return kept * (torch.rand(kept.shape, dtype=torch.float64) + 0.5) / per_output


class _Gain(nn.Module):
    """What a normalisation layer leaves of the paths through it: a factor per channel."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.weight = layer.weight
        self.bias = getattr(layer, "bias", None)
        self.per_channel = not isinstance(layer, (nn.LayerNorm, nn.RMSNorm))

    def forward(self, hidden: Tensor) -> Tensor:
        if not isinstance(self.weight, Tensor):
            return hidden
        shape = (-1, *[1] * (hidden.dim() - 2)) if self.per_channel else self.weight.shape
        return hidden * self.weight.view(shape)


def _reduce_normalisations(network: nn.Module) -> None:
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, _NORMALISATIONS):
                setattr(module, name, _Gain(child))
