"""Which figures there are, which of the paper's they correspond to, and what a study must have for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from matplotlib.figure import Figure

from parsity.analysis import MeasuredStudy, StudyAnalysis, analyse
from parsity.errors import UsageError
from parsity.report.figures.along import draw_lipschitz, draw_training
from parsity.report.figures.clouds import draw_clouds
from parsity.report.figures.quantities import plane, quantities
from parsity.report.figures.ranges import draw_ranges
from parsity.report.figures.ratios import draw_ratios
from parsity.report.figures.scaling import draw_scaling
from parsity.report.figures.statuses import of_goal
from parsity.report.figures.style import Width

Kind = Literal["scaling", "clouds", "ranges", "ratios", "lipschitz", "training"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PAPER: dict[Kind, tuple[int, ...]] = {
    "scaling": (1, 2, 7, 8, 9, 10, 11),
    "clouds": (3, 13, 14, 15, 16, 17, 18),
    "ranges": (5,),
    "ratios": (12,),
    "lipschitz": (4,),
    "training": (6,),
}
"""The paper's figures of each composition; which of them a study's is goes by its workload."""
ALONG_TRAINING: tuple[Kind, ...] = ("lipschitz", "training")
"""Those of smoothness, which have no goal."""
ALL = "all"


@dataclass(frozen=True)
class Subject:
    """A study to be drawn; it is analysed when a figure first needs that."""

    study: MeasuredStudy

    @cached_property
    def analysis(self) -> StudyAnalysis:
        """The study's own analysis."""
        return analyse([self.study]).studies[0]

    @property
    def goals(self) -> tuple[float, ...]:
        """The goals it has trials for."""
        return tuple(sorted({goal for cell in self.study.cells if cell.trials for goal in cell.goals}))


def find_kinds(which: str) -> tuple[Kind, ...]:
    """Read "1,2,12", "scaling,ratios" or "all": the kinds asked for, each once, in the order of `KINDS`."""
    numbers = {str(number): kind for kind, some in PAPER.items() for number in some}
    known: dict[str, Kind] = {**numbers, **{kind: kind for kind in KINDS}}
    asked: set[Kind] = set()
    for word in (part.strip() for part in which.split(",")):
        if word == ALL:
            asked |= set(KINDS)
        elif word not in known:
            raise UsageError(
                f"--which {word!r}: allowed are {_spoken(sorted(map(int, numbers)))}, {', '.join(KINDS)}, all"
            )
        else:
            asked.add(known[word])
    return tuple(kind for kind in KINDS if kind in asked)


def missing(kind: Kind, study: MeasuredStudy, goal: float | None) -> str:
    """Why ``kind`` cannot be drawn of a study for ``goal``; "" where it can."""
    if kind in ALONG_TRAINING:
        measured = study.smoothness is not None and any(curve.points for curve in study.smoothness.curves)
        return "" if measured else "its smoothness was not measured; `parsity smoothness --folder` does"
    if goal is None:
        return "no trial has been measured"
    cells = of_goal(study.cells, goal)
    if not cells:
        return "no trial has been measured"
    if kind in ("clouds", "ranges"):
        return "" if plane(quantities(cells, study.space)) else "no metaparameter was searched"
    reached = {(cell.batch_size, cell.sparsity) for cell in cells if cell.steps_to_result(goal) is not None}
    if not reached:
        return "no trial has reached the goal"
    if kind == "ratios":
        least = min(cell.sparsity for cell in cells)
        sparser = {batch_size for batch_size, sparsity in reached if sparsity > least}
        if not any((batch_size, least) in reached for batch_size in sparser):
            return "no batch size has steps of two sparsities, the least of them among these"
    return ""


def draw(kind: Kind, subject: Subject, goal: float | None, *, width: Width = "page") -> Figure:
    """Draw one figure of one study; those along training have no goal."""
    if goal is None:
        along = draw_lipschitz if kind == "lipschitz" else draw_training
        return along(subject.study, width=width)
    draws: dict[Kind, Callable[[], Figure]] = {
        "scaling": lambda: draw_scaling(subject.analysis, goal, width=width),
        "clouds": lambda: draw_clouds(subject.study, goal, width=width),
        "ranges": lambda: draw_ranges(subject.study, subject.analysis, goal, width=width),
        "ratios": lambda: draw_ratios(subject.analysis, goal, width=width),
        "lipschitz": lambda: draw_lipschitz(subject.study, width=width),
        "training": lambda: draw_training(subject.study, width=width),
    }
    return draws[kind]()


def _spoken(numbers: list[int]) -> str:
    """1, 2, 3, 5 as "1-3, 5"."""
    return ", ".join(f"{low}-{high}" if high > low else f"{low}" for low, high in _runs(numbers))


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    start = before = numbers[0]
    for number in [*numbers[1:], None]:
        if number is None or number > before + 1:
            yield start, before
            start = number if number is not None else start
        before = number if number is not None else before
