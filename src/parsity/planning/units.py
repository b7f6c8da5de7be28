"""Quantities as people write them - 10Gbit, 20us, 50x, 10min, 5core-hours - as plain numbers."""

from __future__ import annotations

import math
import re

from parsity.errors import UsageError

_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(.*?)\s*")
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BANDWIDTHS = {
    **{f"{scale}{unit}": factor / 8 for scale, factor in _SCALES.items() for unit in ("bit", "b", "bps")},
    **{f"{scale}{unit}": factor for scale, factor in _SCALES.items() for unit in ("byte", "B")},
}
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "sec": 1.0,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
}
_SPEEDS = {"": 1.0, "x": 1.0, "times": 1.0}


def bandwidth(text: str, where: str) -> float:
    """Bytes a second of a link: 10Gbit, 400Mbit/s, 1.2GB/s."""
    return _read(text, where, _BANDWIDTHS, "a bandwidth like 10Gbit or 1.2GB/s", strip=("/s",))


def duration(text: str, where: str) -> float:
    """Seconds: 20us, 1.5ms, 10min, 2h."""
    return _read(text, where, _SECONDS, "a time like 20us, 10min or 2h", strip=("s",))


def speed(text: str, where: str) -> float:
    """How many times as fast: 50x, or 50."""
    return _read(text, where, _SPEEDS, "a factor like 50x")


def budget(text: str, where: str) -> float:
    """Worker-seconds: 5core-hours, 300core-min, 2worker-days."""
    units = {f"{who}-{unit}": s for who in ("core", "worker", "device", "gpu") for unit, s in _SECONDS.items()}
    return _read(text, where, units, "a budget like 5core-hours or 2worker-days", strip=("s",))


def spoken(seconds: float) -> str:
    """Seconds the way people say them, to three digits."""
    if not math.isfinite(seconds):
        return "-"
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= (1.0 if unit == "s" else 2.0 if unit != "ms" else 1.0) * size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds / 1e-6)} us"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _read(text: str, where: str, units: dict[str, float], wanted: str, *, strip: tuple[str, ...] = ()) -> float:
    found = _NUMBER.fullmatch(text)
    if found is not None:
        unit = found[2]
        tried = [unit, *(unit.removesuffix(end) for end in strip)]
        for one in tried:
            value = float(found[1]) * units[one] if one in units else 0.0
            if one in units and math.isfinite(value) and value > 0:
                return value
    raise UsageError(f"{where} {text!r}: it must be {wanted}, more than 0")
