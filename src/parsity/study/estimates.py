"""About how many hours a study of a built-in network takes: to choose a preset by, before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass

from parsity.study.spec import StudySpec

CORES = 2  # of a desk


@dataclass(frozen=True)
class Pace:
    """What hours are reckoned from, for momentum at the built-in goals: rough, and there to plan an evening by.

    Steps to the goal are ``linear / B + floor`` for a dense network, and more for a sparse one. One core trains on
    ``images`` a second; what a step costs besides its images is that of ``overhead`` images more.
    """

    linear: float
    floor: float
    images: float
    overhead: float

    def steps(self, batch_size: int, sparsity: float) -> float:
        """About how many steps the best trial takes."""
        harder = 1 + 2.5 * sparsity**2  # 1, 1.6, 2.2 and 3 at 0, 50, 70 and 90 %
        return harder * (self.linear / batch_size + self.floor)


PACES = {
    "digits-cnn": Pace(linear=400, floor=12, images=68_000, overhead=16),
    "simple-cnn": Pace(linear=60_000, floor=140, images=10_000, overhead=4),
    "parsity.quadratic:Quadratic": Pace(linear=900, floor=30, images=800_000, overhead=160),
    "resnet-8": Pace(linear=100_000, floor=300, images=2_500, overhead=6),
}


def estimated_hours(spec: StudySpec, *, cores: int = CORES) -> float | None:
    """Hours for all cells: each trial goes on to patience times the best one's steps, or to the limit.

    None for a network that Parsity knows no pace of.
    """
    pace = PACES.get(spec.ingredients.network)
    if pace is None:
        return None
    images = sum(
        spec.trials
        * min(spec.patience * pace.steps(batch_size, sparsity), spec.step_limit)
        * (batch_size + pace.overhead)
        for batch_size, sparsity in spec.cells()
    )
    return images / (pace.images * cores * 3600)


def spoken(hours: float) -> str:
    """Hours the way one says them."""
    count, unit = (hours * 60, "minute") if hours < 1 else (hours, "hour") if hours < 48 else (hours / 24, "day")
    whole = max(1, round(count))
    return f"about {whole} {unit}{'' if whole == 1 else 's'}"
