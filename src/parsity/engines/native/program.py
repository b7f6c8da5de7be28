"""What the native engine runs: a list of steps from value to value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

Shape = tuple[int, int, int]


class Kind(IntEnum):
    """Twin of ``enum kind`` in native.h."""

    CONVOLUTION = 0
    LINEAR = 1
    RELU = 2
    MAX_POOL = 3
    AVERAGE_POOL = 4
    ADDITION = 5
    PADDING = 6
    MEAN = 7


@dataclass(frozen=True, kw_only=True)
class Step:
    """One layer: which values it reads and writes, and how; ``channels``: a padding adds channels too."""

    kind: Kind
    name: str
    input: int
    output: int
    other: int = 0
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    top: int = 0
    left: int = 0
    front: int = 0
    channels: bool = False
    rectified: bool = False
    pooled: bool = False
    full: tuple[int, int] = (1, 1)
    weights: int = -1
    bias: int = -1


@dataclass(frozen=True)
class Program:
    """Steps in order; value 0 is the image, the last step's output the logits; shapes are channels, height, width."""

    shapes: tuple[Shape, ...]
    steps: tuple[Step, ...]
    parameter_count: int


def fused(program: Program) -> Program:
    """Join what one pass over memory can do: padding before a convolution, a ReLU and a 2x2 max-pool after it."""
    steps = _without_padding(list(program.steps))
    result: list[Step] = []
    for step in steps:
        last = result[-1] if result else None
        if last is not None and step.input == last.output and _readers(steps, last.output) == 1:
            joined = _joined(last, step, program)
            if joined is not None:
                result[-1] = joined
                continue
        result.append(step)
    return _renumbered(replace(program, steps=tuple(result)))


def _joined(last: Step, step: Step, program: Program) -> Step | None:
    if step.kind is Kind.RELU and last.kind in (Kind.CONVOLUTION, Kind.LINEAR):
        return replace(last, rectified=True, output=step.output)
    if (
        step.kind is Kind.MAX_POOL
        and last.kind is Kind.CONVOLUTION
        and not last.pooled
        and (step.kernel, step.stride, step.top, step.left) == ((2, 2), (2, 2), 0, 0)
        and program.shapes[step.output][1:] == (last.full[0] // 2, last.full[1] // 2)
    ):
        return replace(last, pooled=True, output=step.output)
    return None


def _without_padding(steps: list[Step]) -> list[Step]:
    """Spatial padding that only convolutions read becomes theirs."""
    for pad in [step for step in steps if step.kind is Kind.PADDING]:
        readers = [step for step in steps if pad.output in (step.input, _other(step))]
        if pad.channels or any(step.kind is not Kind.CONVOLUTION for step in readers):
            continue
        for reader in readers:
            moved = replace(reader, input=pad.input, top=reader.top + pad.top, left=reader.left + pad.left)
            steps[steps.index(reader)] = moved
        steps.remove(pad)
    return steps


def _other(step: Step) -> int | None:
    return step.other if step.kind is Kind.ADDITION else None


def _readers(steps: list[Step], value: int) -> int:
    return sum((step.input == value) + (_other(step) == value) for step in steps)


def _renumbered(program: Program) -> Program:
    """Values that no step writes any more take up no memory."""
    kept = [0, *(step.output for step in program.steps)]
    number = {value: index for index, value in enumerate(kept)}
    steps = tuple(
        replace(step, input=number[step.input], output=number[step.output], other=number.get(step.other, 0))
        for step in program.steps
    )
    return replace(program, shapes=tuple(program.shapes[value] for value in kept), steps=steps)
