"""A plan: times and costs against the number of workers, the choices that follow, and what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parsity.analysis import MeasuredStudy
from parsity.errors import UsageError
from parsity.planning.assumptions import assumptions
from parsity.planning.choosing import Choice, choices
from parsity.planning.cluster import Cluster
from parsity.planning.cost_model import CostModel, fit_cost_model
from parsity.planning.time_to_result import Line, Uncertainty, time_lines
from parsity.planning.validation import Validation, validate
from parsity.results import StepTimes

BEYOND = 8
"""How many times the fastest number of workers is still shown."""
OWN = "own"
"""What step times call a network or data that have no name."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is asked of a plan."""

    cluster: Cluster | None = None
    """A described cluster; None is the machine that was measured."""
    workers: tuple[int, ...] | None = None
    deadline: float | None = None
    """Seconds."""
    budget: float | None = None
    """Worker-seconds."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many workers for one study and goal, and why."""

    study: str
    goal: float
    wish: Wish
    model: CostModel
    validation: Validation
    uncertainty: Uncertainty
    lines: tuple[Line, ...]
    choices: tuple[Choice, ...]
    assumed: tuple[str, ...]

    def line(self, sparsity: float) -> Line | None:
        """One sparsity's line."""
        return next((line for line in self.lines if line.sparsity == sparsity), None)


def make_plan(study: MeasuredStudy, goal: float, times: StepTimes, wish: Wish | None = None) -> Plan:
    """Join a study's K*(B) with the step times of its network."""
    wish = wish or Wish()
    check_alike(study, times)
    measured = fit_cost_model(times)
    validation = validate(times, measured)
    uncertainty = Uncertainty(compute=validation.spread("compute"), exchange=validation.spread("exchange"))
    model = measured if wish.cluster is None else measured.on(wish.cluster)
    workers = wish.workers or default_workers(study, goal, model)
    if max(workers) > 1 and not model.knows_exchange:
        if wish.workers is not None or wish.cluster is not None:
            raise UsageError(
                "step times: one worker alone was measured, so what an exchange costs is not known; "
                "--bandwidth and --latency describe it, `parsity scale --workers 1,2` measures it"
            )
        workers = (1,)
    lines = time_lines(study, goal, model, workers, uncertainty)
    if wish.workers is None:
        lines = worth_showing(lines)
    if not lines and not any(cell.steps_to_result(goal) for cell in study.cells if goal in cell.goals):
        raise UsageError(f"{study.name}: no trial has reached goal {goal:g}, so there is nothing to plan")
    if not lines:
        raise UsageError(
            f"workers: no batch size measured has an image for each of {min(workers):,} workers; allowed are up to "
            f"{default_workers(study, goal, model.on(Cluster()))[-1]:,}"
        )
    return Plan(
        study=study.name,
        goal=goal,
        wish=wish,
        model=model,
        validation=validation,
        uncertainty=uncertainty,
        lines=lines,
        choices=choices(lines, deadline=wish.deadline, budget=wish.budget),
        assumed=assumptions(times, model, validation, [line.sparsity for line in lines]),
    )


def check_alike(study: MeasuredStudy, times: StepTimes) -> None:
    """Refuse step times of another network or other data."""
    for part in ("network", "data"):
        here, there = getattr(study, part), times.workload.get(part, "")
        if here and there not in ("", OWN) and here != there:
            raise UsageError(f"step times: they are of {part} {there}, and {study.name} has {here}")


def default_workers(study: MeasuredStudy, goal: float, model: CostModel) -> tuple[int, ...]:
    """Powers of two: on the measured machine up to its cores, on a described cluster up to one image a worker."""
    largest = max(
        (cell.batch_size for cell in study.cells if goal in cell.goals and cell.steps_to_result(goal) is not None),
        default=1,
    )
    end = largest if model.cluster is not None else min(largest, model.cores)
    found = [2**power for power in range(end.bit_length())]
    return tuple(found if found[-1] == end or model.cluster is not None else [*found, end])


def worth_showing(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines up to `BEYOND` times the workers with which any of them is fastest: more only cost more."""
    fastest = [min(line.points, key=lambda p: (p.seconds.value or 0.0, p.workers)).workers for line in lines]
    end = BEYOND * max(fastest, default=1)
    counts = [sum(point.workers <= end for point in line.points) for line in lines]
    return tuple(
        Line(line.sparsity, line.points[:count], line.log_seconds[:, :count])
        for line, count in zip(lines, counts, strict=True)
    )


def measured_goals(studies: Sequence[MeasuredStudy]) -> tuple[float, ...]:
    """The goals that some cell has reached."""
    return tuple(
        sorted(
            {g for study in studies for cell in study.cells for g in cell.goals if cell.steps_to_result(g) is not None}
        )
    )
