"""How many workers: what to choose, the numbers behind it, and what they take for granted."""

from __future__ import annotations

from parsity.analysis import Estimate
from parsity.planning import Choice, Plan, best_of_all, spoken
from parsity.report.page.controls import chart
from parsity.report.page.findings import Finding
from parsity.report.page.markup import Content, Html, join, tag
from parsity.report.page.numbers import DASH, called, counted, percent, short
from parsity.report.page.tables import table


def workers_chart(place: int) -> Html:
    """Time against workers."""
    caption = (
        "Time to the goal by the number of workers, each with the best global batch measured: steps to the goal times "
        "the seconds of a step. Dotted: W workers W times as fast. Whiskers: 95 % intervals, where bounded."
    )
    return chart("workers", f"workers-chart-{place}", "Time to the goal by number of workers", caption)


def workers(finding: Finding) -> Html:
    """What is said of one goal."""
    plan = finding.study.plan(finding.goal)
    if plan is None:
        return tag("p", "No trial has reached this goal, so there is nothing to plan.", class_="note")
    facts = tag("ul", [tag("li", sentence) for sentence in plan.assumed])
    return join(
        tag("p", _lead(plan), class_="meta"),
        _choices(plan),
        _points(plan),
        tag("details", tag("summary", "What this takes for granted"), facts),
    )


def _lead(plan: Plan) -> Html:
    where = "the machine that was measured" if plan.model.cluster is None else "the described cluster"
    fastest, cheapest = best_of_all(plan.choices, "fastest"), best_of_all(plan.choices, "cheapest")
    parts: list[Content] = [f"On {where}, one training run reaches the goal soonest with "]
    parts += [_who(fastest), ", and at the least cost with ", _who(cheapest), "."]
    return join(*parts)


def _who(choice: Choice | None) -> Html:
    if choice is None or choice.point is None:
        return join(DASH)
    point = choice.point
    count = tag("strong", counted(point.workers, "worker"))
    text = f" and a global batch of {point.batch_size:,}, {called(choice.sparsity)}: {_time(point.seconds)}"
    return join(count, text)


def _choices(plan: Plan) -> Html:
    rows: list[list[Content]] = []
    for one in plan.choices:
        aim = one.aim if one.limit is None else f"{one.aim} {spoken(one.limit)}"
        if one.point is None:
            rows.append([aim, called(one.sparsity), DASH, "", "", ""])
            continue
        spread = f" [{one.fewest}, {one.most}]" if one.fewest is not None else " [open]"
        count: Content = [f"{one.point.workers:,}", tag("span", spread, class_="interval")]
        batch = f"{one.point.batch_size:,}"
        cost = _cost(one.point.worker_seconds)
        rows.append([aim, called(one.sparsity), count, batch, _with_sides(one.point.seconds), cost])
    headings = ["best", "sparsity", "workers", "global batch", "time", "cost"]
    return table(f"How many workers to error {short(plan.goal)}", headings, rows, texts=("best", "sparsity"))


def _points(plan: Plan) -> Html:
    rows = [
        [
            f"{point.workers:,}",
            called(line.sparsity),
            f"{point.batch_size:,}",
            f"{point.steps:,.0f}",
            spoken(point.step.seconds),
            percent(point.step.exchange / point.step.seconds, 0),
            _with_sides(point.seconds),
            _cost(point.worker_seconds),
        ]
        for line in plan.lines
        for point in line.points
    ]
    headings = ["workers", "sparsity", "global batch", "K*", "a step", "of it exchange", "time", "cost"]
    body = table(f"Time and cost to error {short(plan.goal)}, by workers", headings, rows, texts=("sparsity",))
    return tag("details", tag("summary", "Every number of workers"), body)


def _with_sides(estimate: Estimate) -> Content:
    low, high = ("open" if side is None else spoken(side) for side in (estimate.low, estimate.high))
    return [_time(estimate), tag("span", f" [{low}, {high}]", class_="interval")]


def _time(estimate: Estimate) -> str:
    return spoken(estimate.value) if estimate.value is not None else DASH


def _cost(estimate: Estimate) -> str:
    return _time(estimate).replace(" ", " worker-")
