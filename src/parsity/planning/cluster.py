"""A cluster as it is described: what its links and devices are, in place of those that were measured."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from parsity.errors import UsageError
from parsity.planning.units import bandwidth, duration, speed

Algorithm = Literal["ring", "halving"]
_READERS = {"bandwidth": bandwidth, "latency": duration, "device_speed": speed}
KEYS = (*_READERS, "exchange")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """One worker per device, all devices alike, each with a link of its own.

    What is None is as it was measured. ``exchange`` is the way gradients are averaged: around a ring, in 2 (W - 1)
    rounds, or by halving and doubling, in 2 log2 W; either way each worker sends 2 (W - 1) / W of its gradients.
    """

    bandwidth: float | None = None
    """Bytes a second."""
    latency: float | None = None
    """Seconds a message takes however short it is."""
    device_speed: float = 1.0
    """How many times as fast as the device that was measured."""
    exchange: Algorithm = "ring"

    def but(self, **texts: str | None) -> Cluster:
        """The same with what is given on the command line in place of its own."""
        given: dict[str, Any] = {
            key: _READERS[key](text, f"--{key.replace('_', '-')}") for key, text in texts.items() if text is not None
        }
        return replace(self, **given)


def read_cluster(path: Path) -> Cluster:
    """A cluster from a small TOML file: ``bandwidth = "10Gbit"``, ``latency = "20us"``, ``device_speed = "50x"``."""
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    found: dict[str, Any] = {}
    for key, value in document.items():
        if key in _READERS:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise UsageError(f"{path}: {key} = {value!r}: it must be a text with its unit, in quotes")
            found[key] = _READERS[key](str(value), f"{path}: {key} =")
        elif key == "exchange":
            if value not in get_args(Algorithm):
                raise UsageError(f"{path}: exchange = {value!r}: allowed are {', '.join(get_args(Algorithm))}")
            found[key] = value
        else:
            raise UsageError(f"{path}: {key!r} is not known; allowed are {', '.join(KEYS)}")
    return Cluster(**found)
