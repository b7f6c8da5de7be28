"""What steps cost, as they are taken."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from statistics import median, quantiles


@dataclass
class Meter:
    """Seconds of every step on this rank, and bytes handed over to be summed."""

    compute: array[float] = field(default_factory=lambda: array("d"))
    """Gradient and update."""
    exchange: array[float] = field(default_factory=lambda: array("d"))
    """Packing, summing, unpacking; waiting for the others is part of it."""
    gradient_bytes: int = 0
    test_bytes: int = 0

    def note(self, *, compute: float, exchange: float, sent: int) -> None:
        """Count one step."""
        self.compute.append(compute)
        self.exchange.append(exchange)
        self.gradient_bytes += sent

    def clear(self) -> None:
        """Begin anew: what came before was for warming up."""
        del self.compute[:], self.exchange[:]
        self.gradient_bytes = self.test_bytes = 0

    @property
    def steps(self) -> int:
        """How many steps were counted."""
        return len(self.compute)

    @property
    def bytes_per_step(self) -> int:
        """Gradient bytes in a step."""
        return round(self.gradient_bytes / self.steps) if self.steps else 0


@dataclass(frozen=True)
class Costs:
    """Seconds of a step of the whole group, from the meters of all ranks."""

    compute: float
    exchange: float
    low: float
    high: float

    @classmethod
    def of(cls, meters: list[Meter]) -> Costs:
        """Medians over the steps. A step takes as long as its slowest rank; what that rank computes is compute."""
        compute = [max(each) for each in zip(*(meter.compute for meter in meters), strict=True)]
        whole = [
            max(computed + exchanged for computed, exchanged in each)
            for each in zip(*(zip(m.compute, m.exchange, strict=True) for m in meters), strict=True)
        ]
        if not whole:
            return cls(0.0, 0.0, 0.0, 0.0)
        exchange = [max(0.0, total - computed) for total, computed in zip(whole, compute, strict=True)]
        low, _, high = quantiles(whole, n=4) if len(whole) > 1 else (whole[0],) * 3
        return cls(median(compute), median(exchange), low, high)
