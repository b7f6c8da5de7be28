"""A plan as people read it, and as programs do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parsity.cli.tables import print_table, print_title, short

if TYPE_CHECKING:
    from parsity.analysis import Estimate
    from parsity.planning import Choice, Line, Plan

AIMS = {"fastest": "fastest", "cheapest": "cheapest", "deadline": "cheapest in time", "budget": "fastest in budget"}


def print_plan(plan: Plan) -> None:
    """The choices, the times against workers, the model, what was assumed."""
    from parsity.planning import middle_and_worst

    _choices(plan)
    for line in plan.lines:
        sys.stdout.write("\n")
        _line(plan, line)
    middle, worst = middle_and_worst(plan.validation.judged)
    which = "held-out combinations" if plan.validation.held_out else "the combinations fitted"
    sys.stdout.write(
        f"\nmodel of a step: off by {middle:.1%} in the middle, {worst:.0%} at worst, on {len(plan.validation.judged)} "
        f"{which} of slice size, workers and sparsity\nassumed:\n"
    )
    for sentence in plan.assumed:
        sys.stdout.write(f"- {sentence}\n")


def plan_document(plan: Plan) -> dict[str, Any]:
    """The whole plan as plain data."""
    from parsity.planning import middle_and_worst

    model = plan.model
    middle, worst = middle_and_worst(plan.validation.held_out)
    fit_middle, fit_worst = middle_and_worst(plan.validation.fitted)
    return {
        "study": plan.study,
        "goal": plan.goal,
        "deadline": plan.wish.deadline,
        "budget": plan.wish.budget,
        "cluster": None if model.cluster is None else _plain(model.cluster),
        "model": {
            "overhead": {short(key): value for key, value in model.overhead.items()},
            "per_image": {short(key): value for key, value in model.per_image.items()},
            "gamma": model.gamma,
            "cores": model.cores,
            "latency": model.latency,
            "byte_seconds": model.byte_seconds,
            "waiting": model.waiting,
            "bytes_sent": {short(key): value for key, value in model.sent.items()},
        },
        "errors": {
            "fitted": {"median": fit_middle, "worst": fit_worst},
            "held_out": {"median": middle, "worst": worst} if plan.validation.held_out else None,
            "rows": [
                {
                    "slice_size": one.slice_size,
                    "workers": one.workers,
                    "sparsity": one.sparsity,
                    "measured": one.measured.seconds,
                    "predicted": one.predicted.seconds,
                }
                for one in plan.validation.held_out
            ],
        },
        "points": [
            {
                "sparsity": point.sparsity,
                "workers": point.workers,
                "batch_size": point.batch_size,
                "slice_size": point.slice_size,
                "steps": point.steps,
                "step_seconds": point.step.seconds,
                "compute": point.step.compute,
                "exchange": point.step.exchange,
                "seconds": _plain(point.seconds),
                "worker_seconds": _plain(point.worker_seconds),
            }
            for line in plan.lines
            for point in line.points
        ],
        "choices": [
            {
                "aim": one.aim,
                "sparsity": one.sparsity,
                "limit": one.limit,
                "workers": one.point.workers if one.point else None,
                "batch_size": one.point.batch_size if one.point else None,
                "seconds": _plain(one.point.seconds) if one.point else None,
                "worker_seconds": _plain(one.point.worker_seconds) if one.point else None,
                "fewest": one.fewest,
                "most": one.most,
                "likely": one.likely,
            }
            for one in plan.choices
        ],
        "assumed": list(plan.assumed),
    }


def _plain(value: Any) -> Any:
    from parsity.analysis import plain

    return plain(value)


def _choices(plan: Plan) -> None:
    where = "on the machine measured" if plan.model.cluster is None else "on the described cluster"
    print_title(f"{plan.study}, goal {short(plan.goal)}: how many workers, {where}")
    headings = ("", "sparsity", "workers", "95 %", "batch size", "time", "95 %", "cost", "keeps it")
    print_table(headings, [_choice_row(one) for one in plan.choices], numbers=("sparsity", "workers", "batch size"))


def _choice_row(one: Choice) -> tuple[str, ...]:
    from parsity.planning import spoken

    aim = AIMS[one.aim]
    if one.limit is not None:
        aim += f", {spoken(one.limit)}"
    if one.point is None:
        return (aim, short(one.sparsity), "-", "", "", "none does", "", "", "")
    point = one.point
    spread = f"{one.fewest} to {one.most}" if one.fewest is not None else ".."
    keeps = "" if one.likely is None else f"{one.likely:.0%} likely"
    return (
        aim,
        short(one.sparsity),
        f"{point.workers:,}",
        spread,
        f"{point.batch_size:,}",
        _spoken(point.seconds),
        _interval(point.seconds),
        _cost(point.worker_seconds),
        keeps,
    )


def _line(plan: Plan, line: Line) -> None:
    print_title(f"sparsity {short(line.sparsity)}: time and cost to goal {short(plan.goal)} against workers")
    headings = ("workers", "batch size", "steps", "a step", "of it exchange", "time", "95 %", "cost", "efficiency")
    first = line.points[0]
    rows = []
    for point in line.points:
        cost, alone = point.worker_seconds.value, first.worker_seconds.value
        rows.append(
            (
                f"{point.workers:,}",
                f"{point.batch_size:,}",
                f"{point.steps:,.0f}",
                _time(point.step.seconds),
                f"{point.step.exchange / point.step.seconds:.0%}",
                _spoken(point.seconds),
                _interval(point.seconds),
                _cost(point.worker_seconds),
                f"{alone / cost:.0%}" if cost and alone else "-",
            )
        )
    print_table(headings, rows, numbers=(*headings[:4], "of it exchange", "efficiency"))


def _time(seconds: float) -> str:
    from parsity.planning import spoken

    return spoken(seconds)


def _spoken(estimate: Estimate) -> str:
    return _time(estimate.value) if estimate.value is not None else "-"


def _cost(estimate: Estimate) -> str:
    """Seconds of waiting times workers, in units that say so."""
    number, _, unit = _spoken(estimate).partition(" ")
    return f"{number} worker-{unit}" if unit else number


def _interval(estimate: Estimate) -> str:
    low, high = (".." if side is None else _time(side) for side in (estimate.low, estimate.high))
    return f"({low} to {high})"
