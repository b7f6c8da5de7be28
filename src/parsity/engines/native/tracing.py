"""From a network to a program: torch.fx says what is called in which order, on tensors of which shape."""

from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import torch
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn import functional as F

from parsity.engines.contract import UnsupportedNetworkError
from parsity.engines.native.program import Kind, Program, Shape, Step, fused

SAMPLE = 2
MAXIMUM_TAPS = 1024
MAXIMUM_WINDOW = 255

IDENTITIES = (nn.Identity, nn.Flatten)
RELUS = (F.relu, torch.relu, torch.relu_, "relu", "relu_")
ADDITIONS = (operator.add, operator.iadd, torch.add, "add", "add_")
RESHAPES = (torch.flatten, torch.reshape, "flatten", "view", "reshape")
SHAPE_QUESTIONS = ("size", getattr, operator.getitem, "contiguous")


def trace(network: nn.Module, image: Shape) -> Program:
    """The program of ``network`` for images of one shape, or `UnsupportedNetworkError`."""
    _check_parameters(network)
    network = copy.deepcopy(network).train()
    try:
        module = fx.symbolic_trace(network)
        with torch.random.fork_rng(devices=[]):
            ShapeProp(module).propagate(torch.zeros(SAMPLE, *image))
    except Exception as error:
        raise UnsupportedNetworkError(f"{type(network).__name__}: it cannot be traced ({error})") from error
    return fused(_Translator(network, module, image).program())


def _check_parameters(network: nn.Module) -> None:
    for name, parameter in network.named_parameters(remove_duplicate=False):
        if parameter.dtype != torch.float32:
            raise UnsupportedNetworkError(f"{name}: its numbers are {parameter.dtype}, not float32")
    if any(True for _ in network.buffers()):
        name = next(name for name, _ in network.named_buffers())
        raise UnsupportedNetworkError(f"{name}: networks with buffers (batch normalisation) are not supported")


class _Translator:
    """Walks the traced graph once, writing steps."""

    def __init__(self, network: nn.Module, module: fx.GraphModule, image: Shape) -> None:
        self._network = network
        self._graph = module.graph
        self._modules = dict(module.named_modules())
        self._offsets: dict[int, int] = {}
        count = 0
        for parameter in network.parameters():
            self._offsets[id(parameter)] = count
            count += parameter.numel()
        self._count = count
        self._used: set[int] = set()
        self._shapes: list[Shape] = [image]
        self._steps: list[Step] = []
        self._values: dict[fx.Node, int] = {}

    def program(self) -> Program:
        for node in self._graph.nodes:
            if node.op == "placeholder":
                self._values[node] = 0
            elif node.op == "output":
                self._finish(node)
            elif node.op == "call_module":
                self._module(node, self._modules[str(node.target)])
            elif node.op in ("call_function", "call_method"):
                self._function(node)
            else:
                self._refuse(node, "a parameter used outside a layer is not supported")
        return Program(tuple(self._shapes), tuple(self._steps), self._count)

    def _finish(self, node: fx.Node) -> None:
        result = node.args[0]
        if not isinstance(result, fx.Node) or self._values.get(result) is None:
            self._refuse(node, "the network must return one tensor of logits")
        if not self._steps or self._values[result] != self._steps[-1].output or len(_shape(result)) != 2:
            self._refuse(node, "the network must end in its logits, (images, classes)")
        names = {id(parameter): name for name, parameter in self._network.named_parameters()}
        unused = [names[key] for key in self._offsets if key not in self._used]
        if unused:
            raise UnsupportedNetworkError(f"{unused[0]}: the parameter has no part in the logits")

    def _module(self, node: fx.Node, module: nn.Module) -> None:
        if type(module).__module__.partition(".")[0] != "torch":
            self._refuse(node, f"a {type(module).__name__} is not supported")
        if isinstance(module, nn.Conv2d):
            self._convolution(node, module)
        elif isinstance(module, nn.Linear):
            self._linear(node, module)
        elif isinstance(module, nn.ReLU):
            self._relu(node, inplace=module.inplace)
        elif (isinstance(module, nn.Dropout) and module.p == 0) or isinstance(module, IDENTITIES):
            self._alias(node)
        elif isinstance(module, nn.MaxPool2d):
            names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
            self._max_pool(node, **{name: getattr(module, name) for name in names})
        elif isinstance(module, nn.AvgPool2d):
            names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
            self._average_pool(node, **{name: getattr(module, name) for name in names})
        elif isinstance(module, nn.AdaptiveAvgPool2d):
            self._adaptive_pool(node, module.output_size)
        elif isinstance(module, nn.ZeroPad2d):
            self._padding(node, module.padding, "constant", 0)
        else:
            self._refuse(node, f"a {type(module).__name__} is not supported")

    def _function(self, node: fx.Node) -> None:
        target, args, kwargs = node.target, node.args[1:], node.kwargs
        if target in SHAPE_QUESTIONS and (target == "contiguous" or not _is_image(node)):
            if target == "contiguous":
                self._alias(node)
        elif target in RELUS:
            in_place = target in (torch.relu_, "relu_") or bool(args and args[0]) or bool(kwargs.get("inplace"))
            self._relu(node, inplace=in_place)
        elif target in ADDITIONS:
            self._addition(node)
        elif target in RESHAPES:
            self._alias(node)
        elif target is F.max_pool2d or target is torch.max_pool2d:
            self._max_pool(node, **_named(args, kwargs, "kernel_size", "stride", "padding", "dilation", "ceil_mode"))
        elif target is F.avg_pool2d:
            names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
            self._average_pool(node, **_named(args, kwargs, *names))
        elif target is F.adaptive_avg_pool2d:
            self._adaptive_pool(node, _named(args, kwargs, "output_size")["output_size"])
        elif target is F.pad:
            self._padding(node, **{"mode": "constant", "value": 0, **_named(args, kwargs, "pad", "mode", "value")})
        elif target in (torch.mean, "mean"):
            self._mean(node, _named(args, kwargs, "dim", "keepdim").get("dim"))
        elif target is F.dropout:
            given = _named(args, kwargs, "p", "training", "inplace")
            if given.get("p", 0.5) != 0 and given.get("training", True):
                self._refuse(node, "dropout is not supported")
            self._alias(node)
        else:
            name = target if isinstance(target, str) else getattr(target, "__name__", target)
            self._refuse(node, f"{name} is not supported")

    def _convolution(self, node: fx.Node, module: nn.Conv2d) -> None:
        if module.groups != 1 or _pair(module.dilation) != (1, 1) or module.padding_mode != "zeros":
            self._refuse(node, "groups, dilation and padding with anything but zeros are not supported")
        kernel = _pair(module.kernel_size)
        if prod(kernel) > MAXIMUM_TAPS:
            self._refuse(node, f"a kernel of more than {MAXIMUM_TAPS} weights is not supported")
        left, _, top, _ = module._reversed_padding_repeated_twice  # the one place where "same" is worked out
        _, height, width = self._shape_after(node)
        self._write(
            node,
            Kind.CONVOLUTION,
            kernel=kernel,
            stride=_pair(module.stride),
            top=top,
            left=left,
            full=(height, width),
            **self._parameters(node, module),
        )

    def _linear(self, node: fx.Node, module: nn.Linear) -> None:
        if len(_shape(node)) != 2:
            self._refuse(node, "a linear layer on anything but (images, features) is not supported")
        self._write(node, Kind.LINEAR, **self._parameters(node, module))

    def _parameters(self, node: fx.Node, module: nn.Conv2d | nn.Linear) -> dict[str, int]:
        given = [module.weight] if module.bias is None else [module.weight, module.bias]
        for parameter in given:
            if id(parameter) in self._used:
                self._refuse(node, "parameters shared between layers are not supported")
            self._used.add(id(parameter))
        offsets = [self._offsets[id(parameter)] for parameter in given]
        return {"weights": offsets[0], "bias": -1 if module.bias is None else offsets[1]}

    def _relu(self, node: fx.Node, *, inplace: bool) -> None:
        self._check_alone(node, inplace)
        self._write(node, Kind.RELU)

    def _addition(self, node: fx.Node) -> None:
        self._check_alone(node, node.target in (operator.iadd, "add_"))
        one, two = node.args[0], node.args[1] if len(node.args) > 1 else node.kwargs.get("other")
        if not (isinstance(one, fx.Node) and isinstance(two, fx.Node)) or node.kwargs.get("alpha", 1) != 1:
            self._refuse(node, "only the sum of two tensors is supported")
        if not _is_image(one) or not _is_image(two) or _shape(one) != _shape(two):
            self._refuse(node, "only tensors of one shape can be added")
        self._write(node, Kind.ADDITION, other=self._value(two))

    def _max_pool(self, node: fx.Node, kernel_size: Any, **given: Any) -> None:
        kernel = _pair(kernel_size)
        stride = _pair(given.get("stride") or kernel)
        if _pair(given.get("dilation", 1)) != (1, 1) or given.get("return_indices") or prod(kernel) > MAXIMUM_WINDOW:
            self._refuse(node, "dilation, indices and windows above 255 pixels are not supported")
        top, left = _pair(given.get("padding", 0))
        self._write(node, Kind.MAX_POOL, kernel=kernel, stride=stride, top=top, left=left)

    def _average_pool(self, node: fx.Node, kernel_size: Any, **given: Any) -> None:
        kernel = _pair(kernel_size)
        stride = _pair(given.get("stride") or kernel)
        top, left = _pair(given.get("padding", 0))
        cut = (top or left) and not given.get("count_include_pad", True)
        if given.get("ceil_mode") or given.get("divisor_override") or cut:
            self._refuse(node, "ceil_mode and divisors other than the window's size are not supported")
        self._write(node, Kind.AVERAGE_POOL, kernel=kernel, stride=stride, top=top, left=left)

    def _adaptive_pool(self, node: fx.Node, output_size: Any) -> None:
        if output_size not in (1, (1, 1), [1, 1]):
            self._refuse(node, "adaptive pooling to anything but one pixel is not supported")
        self._write(node, Kind.MEAN)

    def _mean(self, node: fx.Node, dim: Any) -> None:
        rank = len(_shape(node.args[0]))  # type: ignore[arg-type]
        if rank != 4 or not isinstance(dim, (tuple, list)) or {d % rank for d in dim} != {2, 3}:
            self._refuse(node, "only the mean over height and width is supported")
        self._write(node, Kind.MEAN)

    def _padding(self, node: fx.Node, pad: Any, mode: str, value: Any) -> None:
        pads = [*pad, *[0] * (8 - len(pad))]
        if mode != "constant" or value not in (None, 0) or min(pads) < 0 or pads[6:] != [0, 0] or not _is_image(node):
            self._refuse(node, "only padding with zeros, at the sides or in channels, is supported")
        self._write(node, Kind.PADDING, left=pads[0], top=pads[2], front=pads[4], channels=pads[4] + pads[5] > 0)

    def _alias(self, node: fx.Node) -> None:
        """The same numbers in the same order under another shape."""
        before, after = _shape(node.args[0]), _shape(node)  # type: ignore[arg-type]
        if after != before and after != (SAMPLE, prod(before[1:])):
            self._refuse(node, f"reshaping {before} to {after} is not supported; only flattening is")
        self._values[node] = self._value(node.args[0])

    def _write(self, node: fx.Node, kind: Kind, **how: Any) -> None:
        source = self._value(node.args[0])
        self._shapes.append(self._shape_after(node))
        output = len(self._shapes) - 1
        self._steps.append(Step(kind=kind, name=node.name, input=source, output=output, **how))
        self._values[node] = output

    def _value(self, node: Any) -> int:
        if node not in self._values:
            raise UnsupportedNetworkError(f"{node}: not a tensor of images")
        return self._values[node]

    def _shape_after(self, node: fx.Node) -> Shape:
        shape = _shape(node)
        if len(shape) not in (2, 4) or shape[0] != SAMPLE:
            self._refuse(node, f"a tensor of shape {shape} is not supported")
        return (shape[1], shape[2], shape[3]) if len(shape) == 4 else (shape[1], 1, 1)

    def _check_alone(self, node: fx.Node, in_place: bool) -> None:
        if in_place and len(node.all_input_nodes[0].users) > 1:
            self._refuse(node, "changing in place what another layer reads is not supported")

    def _refuse(self, node: fx.Node, why: str) -> NoReturn:
        raise UnsupportedNetworkError(f"{node.target if node.op == 'call_module' else node.name}: {why}")


def _shape(node: fx.Node) -> tuple[int, ...]:
    meta: Any = node.meta.get("tensor_meta")
    return tuple(meta.shape) if hasattr(meta, "shape") else ()


def _is_image(node: fx.Node) -> bool:
    return bool(_shape(node))


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[-1]))


def _named(args: Sequence[Any], kwargs: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**dict(zip(names, args, strict=False)), **kwargs}
