"""What a plan takes for granted, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from parsity.planning.cost_model import CostModel
from parsity.planning.units import spoken
from parsity.planning.validation import Validation, middle_and_worst
from parsity.results import StepTimes


def assumptions(
    times: StepTimes, model: CostModel, validation: Validation, sparsities: Sequence[float]
) -> tuple[str, ...]:
    """A sentence for each."""
    found = [
        "The time is that of one training run with the metaparameters that were found best; searching for them, goal "
        "tests, pruning and starting up are not counted.",
        "Steps depend on the global batch alone, not on how it is divided among workers.",
        *_where(times, model),
        _slices(times),
        *_unmeasured(model, sparsities),
        _believed(validation),
    ]
    if model.knows_exchange and not model.sent:
        found.append("No exchange was measured: intervals hold nothing of how far off its model may be.")
    return tuple(found)


def _where(times: StepTimes, model: CostModel) -> list[str]:
    engine = f"the {times.engine} engine"
    cluster = model.cluster
    if cluster is None:
        return [
            f"Workers share the machine that was measured: {model.cores} cores, {engine}; beyond {model.cores} workers "
            "they take turns."
        ]
    speed = cluster.device_speed
    pace = f"{speed:g} times as fast as" if speed != 1 else "as fast as"
    found = [
        f"Each worker has a device of its own, {pace} one worker on the machine that was measured ({engine}), in "
        "everything a step does, whatever its share of images and its sparsity."
    ]
    if model.knows_exchange and model.latency is not None and model.byte_seconds is not None:
        way = "around a ring" if cluster.exchange == "ring" else "by halving and doubling"
        latency = f"{spoken(model.latency)} a message" + (", as measured" if cluster.latency is None else "")
        link = "no limit to bandwidth, as measured"
        if model.byte_seconds > 0:
            link = f"{8e-9 / model.byte_seconds:.3g} Gbit/s" + (", as measured" if cluster.bandwidth is None else "")
        found.append(
            f"Gradients are averaged {way} after they have all been computed, with {latency} and {link} on every link "
            "at once."
        )
        waiting = model.waiting or 0.0
        if waiting > 0:
            found.append(
                f"Workers wait for the slowest for {waiting:.0%} of the computing time, as they did where steps were "
                "measured, however many there are."
            )
    return found


def _slices(times: StepTimes) -> str:
    sizes = sorted({row.slice_size for row in times.rows})
    workers = sorted({row.workers for row in times.rows})
    return (
        f"A step's time is a straight line in the images of a worker, measured from {sizes[0]:,} to {sizes[-1]:,} "
        f"and with {', '.join(map(str, workers))} worker{'' if workers == [1] else 's'}; all else is an extrapolation."
    )


def _unmeasured(model: CostModel, sparsities: Sequence[float]) -> list[str]:
    missing = [sparsity for sparsity in sparsities if sparsity not in model.per_image]
    if not missing:
        return []
    names = ", ".join(f"{sparsity:.4g}" for sparsity in missing)
    return [f"No step was timed at sparsity {names}: its time lies between those that were, or is the nearest's."]


def _believed(validation: Validation) -> str:
    middle, worst = middle_and_worst(validation.judged)
    how = "steps it was not fitted to" if validation.held_out else "the steps it was fitted to"
    return (
        f"The model of a step is off by {middle:.0%} in the middle and {worst:.0%} at worst on {how}; intervals are of "
        "other searches for metaparameters and of such errors."
    )
