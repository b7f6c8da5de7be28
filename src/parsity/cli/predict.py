"""``parsity predict``: the curve of a sparsity that is not measured yet, from a few cheap measurements."""

from __future__ import annotations

import math
import sys
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from parsity.analysis import Curve, Estimate, Forecast, ForecastPoint, MeasuredStudy, PredictedRatio

EPILOGUE = """\
The curve of the least sparse network has to be measured, at three batch sizes or more. What else it is told from:
  cells      steps of the sparsity itself, at one or two batch sizes; every stored one counts unless --from names some
  constants  Delta, beta and L of both sparsities, as `parsity smoothness` leaves them in the study's folder, or in the
             one that --smoothness names
Cells tell more than constants; one small and one large batch tell most. Numbers in brackets are 95 % intervals. Where
cells of the sparsity are stored that the forecast was not made from, it is held against them.

examples:
  parsity predict mnist-momentum --sparsity 0.8
  parsity predict mnist-momentum --sparsity 0.9 --from 16,1024
  parsity predict mnist-momentum --sparsity 0.9 --from none --smoothness mnist-sgd-smoothness"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity predict``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EPILOGUE
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the study's folder, as `parsity run` leaves it")
    parser.add_argument("--sparsity", type=float, required=True, metavar="S", help="the fraction pruned to tell")
    parser.add_argument(
        "--from", dest="cells", metavar="CELLS", help="batch sizes whose cells to tell it from, or none (default: all)"
    )
    parser.add_argument("--smoothness", type=Path, metavar="DIR", help="where the constants were measured")
    parser.add_argument("--batch-sizes", metavar="LIST", help="what to tell (default: those of the study)")
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Forecast, and hold what was forecast against what is stored."""
    from parsity.analysis import curves, plain
    from parsity.cli.measured import measured_study, with_goal
    from parsity.cli.tables import print_json

    sparsity = arguments.sparsity
    if not 0 <= sparsity < 1:
        raise UsageError(f"--sparsity {sparsity:g}: at least 0 and below 1")
    cells = [] if arguments.cells == "none" else arguments.cells and _sizes("--from", arguments.cells)
    asked = None if arguments.batch_sizes is None else _sizes("--batch-sizes", arguments.batch_sizes)
    study = with_goal(measured_study(arguments.folder), arguments.goal)
    if not study.cells:
        raise UsageError(f"{arguments.folder}: no trial is measured here; `parsity run` does")
    constants = _constants(arguments.smoothness, study, sparsity)
    found = []
    every = curves(study.cells, study.name)
    for goal in sorted({curve.goal for curve in every}):
        of_goal = [curve for curve in every if curve.goal == goal]
        found.append(_forecast(of_goal, sparsity, cells, asked, constants))
    if arguments.json:
        off = [one.typically_off for one in found]
        documents = [{**plain(one), "typically_off": each} for one, each in zip(found, off, strict=True)]
        print_json({"name": study.name, "sparsity": sparsity, "forecasts": documents})
        return 0
    for place, one in enumerate(found):
        if place:
            sys.stdout.write("\n")
        _print(study.name, one)
    return 0


def _forecast(
    of_goal: Sequence[Curve],
    sparsity: float,
    chosen: Sequence[int] | None,
    asked: Sequence[int] | None,
    constants: PredictedRatio | None,
) -> Forecast:
    from parsity.analysis import forecast
    from parsity.cli.tables import short

    known = of_goal[0]
    if sparsity == known.sparsity:
        raise UsageError(f"--sparsity {short(sparsity)}: that is the curve others are told from; give another one")
    if constants is not None and constants.against != known.sparsity:
        sys.stderr.write(
            f"the constants are against sparsity {short(constants.against)}, the study's least sparse network has "
            f"{short(known.sparsity)}: they are left out\n"
        )
        constants = None
    stored = {
        cell.batch_size: cell
        for curve in of_goal
        if curve.sparsity == sparsity
        for cell in curve.cells
        if cell.complete
    }
    missing = [size for size in chosen or () if size not in stored]
    if missing:
        there = ", ".join(f"{size:,}" for size in sorted(stored)) or "none"
        raise UsageError(
            f"--from {','.join(map(str, missing))}: no cell of sparsity {short(sparsity)} has met goal "
            f"{short(known.goal)} there; those that have: {there}"
        )
    cells = [cell for size, cell in stored.items() if chosen is None or size in chosen]
    if not cells and constants is None:
        raise UsageError(
            f"nothing to tell sparsity {short(sparsity)} from: measure one or two of its cells (`parsity run`), or the "
            f"constants at {short(known.sparsity)} and {short(sparsity)} (`parsity smoothness`)"
        )
    told = forecast(known, sparsity, cells=cells, constants=constants, batch_sizes=asked, truths=list(stored.values()))
    if told is None:
        raise UsageError(
            f"goal {short(known.goal)}: the curve of sparsity {short(known.sparsity)} has fewer than three cells that "
            "met it, too few to tell another from"
        )
    return told


def _constants(folder: Path | None, study: MeasuredStudy, sparsity: float) -> PredictedRatio | None:
    """The ratio of c1 by the theory; a folder that was named has to have it, the study's own may."""
    from parsity.analysis import predicted_ratios
    from parsity.smoothness import STORE, read_smoothness

    found = study.smoothness
    if folder is not None:
        found = read_smoothness(folder)
        if found is None:
            raise UsageError(f"--smoothness {folder}: there is no {STORE} here; `parsity smoothness` makes one")
        theirs, ours = (found.spec["data"], found.spec["network"]), (study.data, study.network)
        if theirs != ours:
            raise UsageError(
                f"--smoothness {folder}: it is of {' and '.join(theirs)}, the study of {' and '.join(ours)}"
            )
    if found is None:
        return None
    ratio = next((one for one in predicted_ratios(found) if one.sparsity == sparsity), None)
    if ratio is None and folder is not None:
        has = ", ".join(f"{one:g}" for one in found.sparsities)
        raise UsageError(f"--smoothness {folder}: it has no constants of sparsity {sparsity:g} yet; measured are {has}")
    return ratio


def _sizes(option: str, text: str) -> list[int]:
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise UsageError(f"{option} {text!r}: give one batch size, or several between commas, like 16,1024")
    return sorted(set(sizes))


def _print(name: str, found: Forecast) -> None:
    from parsity.cli.tables import print_table, print_title, short

    against = short(found.against)
    print_title(
        f"{name}, goal {short(found.goal)}: steps at sparsity {short(found.sparsity)}, told from {_basis(found)}"
    )
    headings = ("batch size", "forecast", "95 %", "measured", "measured / forecast", "")
    rows = [_row(point) for point in found.points]
    print_table(headings, rows, numbers=("batch size", "forecast", "measured", "measured / forecast"))
    sys.stdout.write(
        f"\nc1 is {_estimate(found.c1_ratio)} times that of {against}, c2 {_estimate(found.c2_ratio)} times\n"
    )
    if found.constants is not None:
        theory = found.constants
        sys.stdout.write(
            f"the theory says c1 {theory.c1.value:.3g} times: Delta {theory.delta:.2f} x beta {theory.beta:.2f} x "
            f"L {theory.lipschitz.value:.2f}\n"
        )
        if len(theory.betas) > 1:
            low, high = min(theory.betas.values()), max(theory.betas.values())
            sys.stdout.write(f"beta's ratio is {low:.2f} to {high:.2f} along training, and counted with that scatter\n")
    if not found.used:
        low, high = (max(side or math.inf, 1e-300) for side in (found.c1_ratio.low, found.c1_ratio.high))
        sys.stdout.write(
            "no cell of this sparsity was used: constants alone tell c1 within a factor of "
            f"{_number(math.sqrt(high / low))} to either side\n"
        )
    if found.typically_off is not None:
        inside = sum(bool(point.within) for point in found.checked)
        sys.stdout.write(
            f"held against {len(found.checked)} measured cells: {inside} within their intervals, "
            f"typically off by {found.typically_off:.2f} octaves\n"
        )


def _basis(found: Forecast) -> str:
    from parsity.cli.tables import short

    parts = [f"the curve of {short(found.against)}"]
    if found.used:
        sizes = ", ".join(f"{size:,}" for size in found.used)
        parts.append(
            f"its cells at batch size {sizes}" if len(found.used) == 1 else f"its cells at batch sizes {sizes}"
        )
    if found.constants is not None:
        parts.append("the theory's constants")
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _row(point: ForecastPoint) -> Sequence[str]:
    if point.used is not None:
        return (f"{point.batch_size:,}", "", "", f"{point.used:,}", "", "used")
    truth = "" if point.truth is None else f"{point.truth:,}"
    off = "" if point.off is None else f"{point.off:.2f}"
    note = "outside" if point.within is False else ""
    return (f"{point.batch_size:,}", _number(point.steps.value), _span(point.steps), truth, off, note)


def _estimate(estimate: Estimate) -> str:
    return f"{_number(estimate.value)} {_span(estimate)}"


def _span(estimate: Estimate) -> str:
    return f"({_number(estimate.low)} to {_number(estimate.high)})"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
