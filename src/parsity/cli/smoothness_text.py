"""What ``parsity smoothness`` says: a line while it measures, a table and a document of what was found."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from parsity.cli.progress import duration

if TYPE_CHECKING:
    from parsity.results import Smoothness, SmoothnessCurve
    from parsity.smoothness import Progress, SmoothnessSpec

PLAIN_EVERY = 30.0
LIVE_EVERY = 0.25


class Line:
    """One line about a measurement at work: renewed in place on a terminal, now and then elsewhere."""

    def __init__(self, spec: SmoothnessSpec, folder: Path) -> None:
        self._spec, self._folder = spec, folder
        self._terminal = sys.stderr.isatty()
        self._spoken = 0.0
        self._done = -1

    def __enter__(self) -> Self:
        spec = self._spec
        given = ", ".join(f"{name} {value:g}" for name, value in spec.metaparameters.items())
        sparsities = ", ".join(f"{sparsity:g}" for sparsity in spec.sparsities)
        sys.stderr.write(
            f"{spec.name}: {spec.optimiser}, B={spec.batch_size}, {given}; {spec.steps:,} steps, measured "
            f"at every {spec.interval:,}, sparsities {sparsities}, in {self._folder}\n"
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")

    def show(self, progress: Progress) -> None:
        """Called often; says something now and then."""
        now = time.monotonic()
        wait = LIVE_EVERY if self._terminal else PLAIN_EVERY
        if now - self._spoken < wait:
            return
        self._spoken = now
        text = f"  {_words(progress)}"
        sys.stderr.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()


def _words(progress: Progress) -> str:
    left = progress.seconds_left
    eta = "" if left is None else f", about {duration(left)} left"
    newest = ""
    if progress.newest is not None:
        sparsity, point = progress.newest
        value = getattr(point, "lipschitz", None)
        newest = f", newest L = {value:.3g} at {sparsity:g}, step {point.step:,}" if value is not None else ""
    return (
        f"{progress.done}/{progress.total} points{newest}; now {progress.doing} at {progress.sparsity:g}, "
        f"step {progress.step:,}; {duration(time.monotonic() - progress.started)} passed{eta}"
    )


def print_smoothness(found: Smoothness) -> None:
    """A row for each sparsity, with its ratios to the least sparse one."""
    from parsity.cli.tables import print_table, print_title

    spec = found.spec
    images = f"{spec['images']:,} images" if spec["images"] else "the whole training split"
    print_title(
        f"{spec['name']}: trial {spec['trial']}, {spec['optimiser']}, batch size {spec['batch_size']}, "
        f"gradients over {images}"
    )
    rows = [_row(found, summary) for summary in summaries(found)]
    numbers = ("points", "mean L", "max L", "Delta", "beta", "noise scale", "top eigenvalue", "trace", "c1 ratio")
    headings = ("sparsity", *numbers, "= Delta x beta x L")
    print_table(headings, rows, numbers=("sparsity", *numbers), dispensable=("trace", "max L", "points"))


def smoothness_document(found: Smoothness) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    return {
        "spec": dict(found.spec),
        "digest": found.digest,
        "least_loss": found.least_loss,
        "summaries": summaries(found),
        "curves": [_curve_document(found, curve) for curve in found.curves],
    }


def summaries(found: Smoothness) -> list[dict[str, Any]]:
    """For each sparsity, the constants and their ratios to the least sparse network's."""
    rows: list[dict[str, Any]] = []
    for curve in found.curves:
        start, last = curve.start, curve.curvature[-1] if curve.curvature else None
        lipschitz = [point.lipschitz for point in curve.points if point.ratios]
        loss = start or (curve.points[0] if curve.points and curve.points[0].step == 0 else None)
        rows.append(
            {
                "sparsity": curve.sparsity,
                "points": len(curve.points),
                "infeasible": curve.infeasible,
                "lipschitz": curve.mean_lipschitz,
                "largest_lipschitz": max(lipschitz, default=None),
                "delta": found.delta(loss) if loss is not None else None,
                "beta": start.beta if start else None,
                "mu": 1,
                "noise_scale": start.noise_scale if start else None,
                "mean_noise_scale": fmean(p.noise_scale for p in curve.noise) if curve.noise else None,
                "top_eigenvalue": last.top if last else None,
                "trace": last.trace if last else None,
            }
        )
    for row in rows:
        parts = {name: _ratio(row, rows[0], name) for name in ("delta", "beta", "lipschitz")}
        row["ratios"] = parts
        known = [value for value in parts.values() if value is not None]
        row["c1_ratio"] = math.prod(known) if len(known) == len(parts) else None
    return rows


def _ratio(row: dict[str, Any], base: dict[str, Any], name: str) -> float | None:
    return row[name] / base[name] if row[name] is not None and base[name] else None


def _row(found: Smoothness, summary: dict[str, Any]) -> list[str]:
    def number(name: str) -> str:
        value = summary[name]
        return "" if value is None else f"{value:.4g}"

    parts = summary["ratios"]
    product = " x ".join("?" if value is None else f"{value:.2f}" for value in parts.values())
    names = ("lipschitz", "largest_lipschitz", "delta", "beta", "noise_scale", "top_eigenvalue", "trace", "c1_ratio")
    points = str(summary["points"])
    if summary["infeasible"] is not None:
        points += f" (infeasible at {summary['infeasible']:,})"
    return [f"{summary['sparsity']:g}", points, *map(number, names), product]


def _curve_document(found: Smoothness, curve: SmoothnessCurve) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "sparsity": curve.sparsity,
        "infeasible": curve.infeasible,
        "lipschitz": [{**asdict(p), "lipschitz": p.lipschitz, "delta": found.delta(p)} for p in curve.points],
        "noise": [{**asdict(p), "noise_scale": p.noise_scale, "delta": found.delta(p)} for p in curve.noise],
        "curvature": [asdict(p) for p in curve.curvature],
    }
