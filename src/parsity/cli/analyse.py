"""``parsity analyse``: what the measured steps say - fits, ratios, verdicts on the search, the paper's claims."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.analysis import Analysis, CurveAnalysis, Estimate, Ratios, StudyAnalysis

EPILOGUE = """\
parts:
  scaling  K* = c1/B + c2 for each sparsity: the critical batch c1/c2, up to where a doubling of the batch saves a tenth
           of the steps (useful), how far the cells are off the fit (in octaves), and whether the knee is as sharp
  ratios   how many times the steps of the least sparse network, by batch size
  search   whether there were trials enough, whether the best ones lie at an edge, and the space to try next
  claims   each statement of the paper, held against these studies

Numbers in brackets are 95 % intervals, from resampling the trials; `..` is a side that they do not bound. Those of the
critical batch and of mean ratios are then from the scatter of the batch sizes, marked ~, which cannot see luck that all
batch sizes share; the critical batch's are also where it is the wider, since it shows where the formula misfits.
`--json` gives everything."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity analyse``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EPILOGUE
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a study's folder")
    parser.add_argument("--only", metavar="LIST", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Analyse the studies together, and print part after part."""
    from parsity.analysis import analyse
    from parsity.cli.measured import measured_studies, with_goal
    from parsity.cli.tables import print_json

    parts = _parts(arguments.only)
    analysis = analyse([with_goal(study, arguments.goal) for study in measured_studies(arguments.folders)])
    if arguments.json:
        print_json(analysis.to_plain())
        return 0
    for number, part in enumerate(parts):
        if number:
            sys.stdout.write("\n")
        PARTS[part](analysis)
    return 0


def _parts(text: str | None) -> list[str]:
    words = list(PARTS) if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in PARTS:
            raise UsageError(f"--only {word!r}: allowed are {', '.join(PARTS)}")
    return [part for part in PARTS if part in words]


def _scaling(analysis: Analysis) -> None:
    from parsity.cli.tables import print_table, print_title, short

    for place, (study, goal) in enumerate(_goals(analysis)):
        if place:
            sys.stdout.write("\n")
        curves = [curve for curve in study.curves if curve.goal == goal]
        print_title(f"{study.name}, goal {short(goal)}: K* = c1/B + c2")
        headings = ("sparsity", "c1", "c2", "critical batch", "", "useful to", "off by", "knee")
        print_table(headings, [_fit_row(curve) for curve in curves], numbers=headings[:4])


def _fit_row(curve: CurveAnalysis) -> Sequence[str]:
    from parsity.cli.tables import short

    found = curve.scaling
    if found is None:
        return (short(curve.sparsity), "-", "-", "-", "fewer than 3 batch sizes reached the goal", "", "", "")
    useful = curve.landmarks.maximal_useful if curve.landmarks is not None else None
    return (
        short(curve.sparsity),
        _number(found.c1.value),
        _number(found.c2.value),
        _number(found.believed_critical_batch.value),
        _interval(found.believed_critical_batch),
        _number(useful.value) if useful is not None else "-",
        f"{found.residual:.2f}",
        found.knee.verdict,
    )


def _ratios(analysis: Analysis) -> None:
    from parsity.cli.tables import print_table, print_title, short

    groups: dict[tuple[str, float], list[Ratios]] = {}
    for study in analysis.studies:
        for one in study.ratios:
            groups.setdefault((study.name, one.goal), []).append(one)
    if not groups:
        sys.stdout.write("no ratios: no study here has two sparsities that reached a goal at one batch size\n")
    for place, ((name, goal), found) in enumerate(groups.items()):
        if place:
            sys.stdout.write("\n")
        print_title(f"{name}, goal {short(goal)}: steps of sparse / {short(found[0].against)}")
        headings = ["batch size", *(short(one.sparsity) for one in found)]
        by_size = [{point.batch_size: point.ratio for point in one.points} for one in found]
        rows = [
            [f"{size:,}", *(_estimate(column.get(size)) for column in by_size)]
            for size in sorted({size for column in by_size for size in column})
        ]
        rows.append(["mean", *(_estimate(one.believed_mean) for one in found)])
        print_table(headings, rows, numbers=headings)


def _search(analysis: Analysis) -> None:
    from parsity.cli.tables import counted, print_table, print_title, short

    for place, study in enumerate(analysis.studies):
        if place:
            sys.stdout.write("\n")
        print_title(f"{study.name}: was the search long and wide enough?")
        rows: list[tuple[str, str, str]] = [
            (f"trials at {short(c.sparsity)}, goal {short(c.goal)}", c.budget.verdict, c.budget.why)
            for c in study.curves
        ]
        for one in study.advice:
            cells = one.interior + one.low + one.high + one.unsaid
            sides = ", ".join(f"{count} {side}" for side in ("low", "high") if (count := getattr(one, side)))
            verdict = f"{sides} of {counted(cells, 'cell')}" if sides else "interior"
            why = f"best inside in {one.interior}, at the low end in {one.low}, at the high end in {one.high}"
            rows.append((one.metaparameter.replace("_", " "), verdict, why))
        print_table(("", "verdict", "why"), rows)
        if study.space_to_try:
            sys.stdout.write(f"\na space to try next:\n{study.space_to_try}\n")


def _claims(analysis: Analysis) -> None:
    from parsity.cli.tables import print_table, print_title

    print_title("The statements of the paper, held against " + ", ".join(study.name for study in analysis.studies))
    print_table(("claim", "verdict", "why"), [(claim.statement, claim.verdict, claim.why) for claim in analysis.claims])


PARTS: dict[str, Callable[[Analysis], None]] = {
    "scaling": _scaling,
    "ratios": _ratios,
    "search": _search,
    "claims": _claims,
}


def _goals(analysis: Analysis) -> list[tuple[StudyAnalysis, float]]:
    return [(study, goal) for study in analysis.studies for goal in sorted({curve.goal for curve in study.curves})]


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "-"
    return f"{_number(estimate.value)} {_interval(estimate)}"


def _interval(estimate: Estimate) -> str:
    low, high = (".." if side is None else _number(side) for side in (estimate.low, estimate.high))
    return f"({'~' if estimate.source == 'scatter' else ''}{low} to {high})"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
