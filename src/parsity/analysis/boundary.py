"""Is the best point near an edge of the search space - and if so, where to look next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from parsity.analysis.curve import CurveCell, Point, Value
from parsity.metaparameters import Choice, Integer, Linear, Log, ReverseLog, Scale, Space

EDGE = 0.1
"""Nearer to an edge than this, in the scale's unit interval, is near."""
SIDE = 0.25
"""Where the better trials lie, for it to be the edge that draws them and not one trial's luck."""
TOP, WITHIN = 5, 1.5
"""The better trials: at most so many, within so many times K*."""
FEWEST = 3
OFTEN = 0.1
"""The share of cells from which on an edge is not one cell's chance."""
Edge = Literal["interior", "low", "high", "cannot be said"]
LIMITS = {"momentum": (0.0, math.inf), "end_learning_rate_factor": (0.0, 1.0)}
"""What a metaparameter can be at all, where its scale alone does not say."""


@dataclass(frozen=True, kw_only=True)
class EdgeVerdict:
    """Whether a metaparameter's best value in one cell is near an edge; positions are in the scale's unit interval."""

    metaparameter: str
    batch_size: int
    sparsity: float
    best: float
    position: float
    others: tuple[float, ...]
    """The positions of the other better trials."""
    verdict: Edge
    """The side of the *value* that is near: low is near the least value allowed."""
    why: str


@dataclass(frozen=True, kw_only=True)
class SpaceAdvice:
    """One metaparameter over all cells of a study: how many best points are near which edge, and the range to try next.

    ``suggested`` is None where too few cells ask for another range.
    """

    metaparameter: str
    interior: int
    low: int
    high: int
    unsaid: int
    suggested: Scale | None


def unit_of(scale: Linear | Log | ReverseLog | Integer, value: float) -> float:
    """Where ``value`` lies in the scale's unit interval: the inverse of its ``value``; for integers, the middle."""
    if isinstance(scale, Log):
        return math.log(value / scale.low) / math.log(scale.high / scale.low)
    if isinstance(scale, ReverseLog):
        return math.log((1 - value) / (1 - scale.high)) / math.log((1 - scale.low) / (1 - scale.high))
    if isinstance(scale, Integer):
        return (value + 0.5 - scale.low) / (scale.high - scale.low)
    return (value - scale.low) / (scale.high - scale.low)


def edge_verdicts(cell: CurveCell, space: Space) -> tuple[EdgeVerdict, ...]:
    """One verdict per searched range; none where no trial is complete."""
    if cell.best is None:
        return ()
    better = [point for point in cell.complete if point.step <= WITHIN * cell.best.step][:TOP]
    return tuple(
        _verdict(cell, better, name, scale) for name, scale in space.scales.items() if not isinstance(scale, Choice)
    )


def _verdict(
    cell: CurveCell, better: Sequence[Point], name: str, scale: Linear | Log | ReverseLog | Integer
) -> EdgeVerdict:
    places = [unit_of(scale, _number(point.metaparameters[name])) for point in better]
    place, middle = places[0], median(places)
    # Position 0 of a reverse-log scale is the highest value.
    sides: tuple[Edge, Edge] = ("high", "low") if isinstance(scale, ReverseLog) else ("low", "high")
    if EDGE <= place <= 1 - EDGE:
        verdict: Edge = "interior"
        why = f"the best lies {min(place, 1 - place):.0%} of the range from the nearer edge"
    else:
        near = sides[0] if place < EDGE else sides[1]
        if len(places) < FEWEST:
            verdict = "cannot be said"
            why = f"the best is near the {near} edge, but only {len(places)} trials come within {WITHIN:g} x K*"
        elif (middle <= SIDE) if place < EDGE else (middle >= 1 - SIDE):
            verdict = near
            why = f"the best is near the {near} edge, and so are most of the best {len(places)}"
        else:
            verdict = "cannot be said"
            why = f"the best is near the {near} edge, but most of the best {len(places)} are not"
    return EdgeVerdict(
        metaparameter=name,
        batch_size=cell.batch_size,
        sparsity=cell.sparsity,
        best=_number(better[0].metaparameters[name]),
        position=place,
        others=tuple(places[1:]),
        verdict=verdict,
        why=why,
    )


def advise(verdicts: Sequence[EdgeVerdict], space: Space) -> tuple[SpaceAdvice, ...]:
    """What all cells together say about the space.

    A side at which a tenth of the cells' best points lie, or more, is moved out by half the range; the other side is
    moved in to just beyond the outermost of the better trials of all cells, or left where those reach that far.
    """
    found = []
    for name, scale in space.scales.items():
        some = [one for one in verdicts if one.metaparameter == name]
        if isinstance(scale, Choice) or not some:
            continue
        count = {side: sum(one.verdict == side for one in some) for side in ("interior", "low", "high")}
        places = [place for one in some for place in (one.position, *one.others)]
        down, up = (count[side] >= max(1.0, OFTEN * len(some)) for side in ("low", "high"))
        if isinstance(scale, ReverseLog):
            down, up = up, down
        start = -0.5 if down else max(0.0, min(places) - EDGE) if up else 0.0
        end = 1.5 if up else min(1.0, max(places) + EDGE) if down else 1.0
        found.append(
            SpaceAdvice(
                metaparameter=name,
                interior=count["interior"],
                low=count["low"],
                high=count["high"],
                unsaid=len(some) - sum(count.values()),
                suggested=_stretched(name, scale, start, end) if down or up else None,
            )
        )
    return tuple(found)


def to_paste(advice: Sequence[SpaceAdvice], space: Space) -> str:
    """The ``[space]`` table to try next, ready for a study file; empty where nothing is to be changed."""
    changes = {one.metaparameter: one.suggested for one in advice if one.suggested is not None}
    changes = {name: scale for name, scale in changes.items() if scale != space.scales[name]}
    if not changes:
        return ""
    spec = Space({**space.scales, **changes}, space.sequence).to_spec()
    return "\n".join(["[space]", *(f"{name} = {_toml(entry)}" for name, entry in spec.items())]) + "\n"


def _stretched(
    name: str, scale: Linear | Log | ReverseLog | Integer, start: float, end: float
) -> Linear | Log | ReverseLog | Integer:
    """The same kind of scale from ``start`` to ``end`` of its unit interval, to two digits, within what is allowed."""
    least, most = LIMITS.get(name, (-math.inf, math.inf))
    if isinstance(scale, Integer):
        width = scale.high - scale.low
        return Integer(max(1, math.floor(scale.low + width * start)), math.ceil(scale.low + width * end))
    low, high = scale.value(start), scale.value(end)
    if isinstance(scale, ReverseLog):
        low, high = 1 - _two_digits(1 - high), 1 - _two_digits(1 - low)
        return ReverseLog(round(max(least, low), 12), round(high, 12))
    low, high = max(least, _two_digits(low)), min(most, _two_digits(high))
    return type(scale)(low, high)


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def _toml(entry: object) -> str:
    if isinstance(entry, dict):
        return "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in entry.items()) + " }"
    if isinstance(entry, list):
        return "[" + ", ".join(map(_toml, entry)) + "]"
    return f'"{entry}"' if isinstance(entry, str) else str(entry)


def _number(value: Value) -> float:
    return float(value)
