"""The first words of the page, for a person who has never heard of steps-to-result."""

from __future__ import annotations

from parsity.analysis import CurveAnalysis, Estimate, Ratios
from parsity.report.page.findings import Finding
from parsity.report.page.markup import Content, Html, join, tag
from parsity.report.page.numbers import about, counted, percent, times
from parsity.report.page.trust import reasons, verdict

NEAR_ONE = 0.05
"""A ratio this close to 1 is no difference to speak of."""
STILL_LINEAR = 4.0
"""With a critical batch so many times the largest measured, scaling is linear all the way: its slope there is 0.8."""
SPREAD = 1.2
"""Ratios that differ by less than this factor between batch sizes are told by their mean alone."""


def lead(finding: Finding) -> Html:
    """What was found, in a few sentences, and what to make of it."""
    if not finding.reached:
        return tag("p", _nothing(finding), class_="lead")
    told = [_batches(finding.reached[0], finding.goal), _sparsity(finding), _trust(finding)]
    return tag("div", [tag("p", one) for one in told if one is not None], class_="lead")


def _nothing(finding: Finding) -> Html:
    trials = sum(len(cell.trials) for cell in finding.study.measured.cells)
    if not trials:
        return join("No trial has been measured yet, so nothing can be said.")
    none = f"None of {counted(trials, 'trial')} has reached an error of {percent(finding.goal, 2)}"
    return join(f"{none}, so nothing can be said about it yet.")


def _batches(curve: CurveAnalysis, goal: float) -> Html:
    """Up to where larger batches pay."""
    measured = [cell.batch_size for cell in curve.cells if cell.steps.steps is not None]
    least, largest = min(measured), max(measured)
    who = "the unpruned network" if not curve.sparsity else f"the network {_pruned(curve.sparsity)}"
    error = f"an error of {percent(goal, 2)}"
    if curve.scaling is None:
        few = counted(len(measured), "batch size")
        return join(f"For {who}, {few} reached {error}; it takes 3 to say up to where larger batches pay.")
    found = curve.scaling.believed_critical_batch
    if found.value is None or found.value >= STILL_LINEAR * largest:
        way = f"all the way to {largest:,} images a step, the largest measured"
        return join(f"For {who}, twice the batch takes half the steps to {error} {way}. Where that ends lies beyond.")
    if found.value < least / 2:
        return join(f"For {who}, larger batches hardly pay: the steps to {error} barely fall from {least:,} images on.")
    text: list[Content] = [
        f"For {who}, larger batches pay ",
        tag("strong", f"up to about {about(found.value)} images"),
        f" a step{_between(found)}. ",
    ]
    if found.value > largest:
        return join(*text, f"The largest measured is {largest:,}, so this is an extrapolation.")
    useful = curve.landmarks.maximal_useful.value if curve.landmarks is not None else None
    end = "well above, it hardly saves any."
    if useful is not None and useful <= largest:
        end = f"from about {about(useful)} on, it saves less than a tenth."
    return join(*text, f"Well below that, twice the batch takes half the steps to {error}; {end}")


def _pruned(sparsity: float) -> str:
    return f"with {percent(sparsity, 2)} of its weights removed before training"


def _between(found: Estimate) -> str:
    """The interval in plain words."""
    if found.low is not None and found.high is not None:
        return f" (between {about(found.low)} and {about(found.high)})"
    if found.low is not None:
        return f" (no fewer than {about(found.low)})"
    return f" (no more than {about(found.high)})" if found.high is not None else ""


def _sparsity(finding: Finding) -> Html | None:
    """What the sparsest network costs."""
    found = [one for one in finding.ratios if one.sparsity > one.against and one.mean.value is not None]
    if not found:
        return None
    one = max(found, key=lambda ratio: ratio.sparsity)
    value = one.mean.value or 1.0
    who = _pruned(one.sparsity).capitalize() + (f", not {percent(one.against, 2)}" if one.against else "")
    if abs(value - 1) < NEAR_ONE:
        return join(f"{who}, the network needs about as many steps.")
    words: list[Content] = [f"{who}, the network needs ", tag("strong", f"{times(value)} times as many steps")]
    return join(*words, _spread(one), _trend(one), ".")


def _spread(one: Ratios) -> str:
    values = [point.ratio.value for point in one.points if point.ratio.value is not None]
    if len(values) == 1:
        return f" at the one batch size where both were measured, {one.points[0].batch_size:,}"
    if max(values) < SPREAD * min(values):
        return ""
    return f" on average, between {times(min(values))} and {times(max(values))} depending on the batch"


def _trend(one: Ratios) -> str:
    slope = one.believed_slope
    if slope.below(0):
        return "; less, the larger the batch"
    return "; more, the larger the batch" if slope.above(0) else ""


def _trust(finding: Finding) -> Html:
    found = reasons(finding)
    number = sum(reason.kind == "care" for reason in found)
    cares = f"{counted(number, 'point')} below {'calls' if number == 1 else 'call'} for"
    word = verdict(found)
    if word == "Not yet":
        why = next(reason.text for reason in found if reason.kind == "bad")
        return join(tag("strong", "Do not rely on it yet", class_="bad"), f": {why[:1].lower()}{why[1:]}")
    if word == "Yes":
        return join("Every check below speaks for ", tag("strong", "trusting it", class_="good"), ".")
    if word == "With care":
        return join("Trust this ", tag("strong", "with care", class_="care"), f": {cares} it.")
    return join("Take this as ", tag("strong", "a first look", class_="care"), f": {cares} care.")
