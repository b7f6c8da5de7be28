"""``parsity figures``: draw the paper's figures from stored results."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.analysis import MeasuredStudy
    from parsity.report.figures import Format, Kind, Subject, Width

EPILOGUE = """\
figures, and those of the paper that have the same composition:
  scaling    1, 2, 7-11   steps against batch size: each sparsity, all together, normalised
  clouds     3, 13-18     the trials of every cell in the search space, a star for the best
  ranges     5            metaparameters against batch size, and the range that reaches the goal
  ratios     12           how many times the dense network's steps
  lipschitz  4          the local Lipschitz constant along training (`parsity smoothness`)
  training   6          the same, with training loss and error beside it

The same results give the same files, byte for byte."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity figures``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EPILOGUE
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a study's folder")
    parser.add_argument(
        "--which", default="all", metavar="LIST", help="names or the paper's numbers, like scaling,12 (default: all)"
    )
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all)")
    parser.add_argument("--to", type=Path, default=Path("figures"), metavar="DIR", help="where (default: figures)")
    parser.add_argument("--format", default="svg", metavar="LIST", help="svg, pdf, png, or several (default: svg)")
    parser.add_argument(
        "--width", choices=["page", "column"], default="page", help="6.75 inches, or 3.25 for a column (default: page)"
    )
    parser.add_argument("--json", action="store_true", help="list them as JSON")


@dataclass(frozen=True)
class _Plan:
    """A figure that can be drawn."""

    subject: Subject
    kind: Kind
    goal: float | None
    stem: str


def run(arguments: argparse.Namespace) -> int:
    """Draw them, and print where each is."""
    from parsity.cli.measured import measured_studies, with_goal
    from parsity.cli.tables import print_json
    from parsity.report.figures import ALL, PAPER, find_kinds

    kinds = find_kinds(arguments.which)
    formats = _formats(arguments.format)
    studies = [with_goal(study, arguments.goal) for study in measured_studies(arguments.folders)]
    plans, left_out = _plans(studies, kinds, alone=arguments.goal is not None)
    drawn = {plan.kind for plan in plans}
    lacking = [] if ALL in arguments.which.split(",") else [one for one in left_out if one["figure"] not in drawn]
    if lacking or not plans:
        told = lacking or left_out
        raise UsageError(f"--which {arguments.which}: {'; '.join(dict.fromkeys(map(_reason, told)))}")
    for one in left_out:
        sys.stderr.write(f"left out: {_reason(one)}\n")
    _make(arguments.to)
    rows = []
    for plan in plans:
        for path in _draw(plan, formats, arguments.to, arguments.width):
            rows.append({**_described(plan), "paper": list(PAPER[plan.kind]), "path": str(path)})
            if not arguments.json:
                sys.stdout.write(f"{path}\n")
                sys.stdout.flush()
    if arguments.json:
        print_json({"figures": rows, "left_out": left_out})
    return 0


def _formats(text: str) -> list[Format]:
    from parsity.report.figures import FORMATS

    words = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for word in words:
        if word not in FORMATS:
            raise UsageError(f"--format {word!r}: allowed are {', '.join(FORMATS)}")
    return [form for form in FORMATS if form in words]


def _plans(
    studies: Sequence[MeasuredStudy], kinds: Sequence[Kind], *, alone: bool
) -> tuple[list[_Plan], list[dict[str, Any]]]:
    """What can be drawn, and what cannot, with the reason."""
    from parsity.report.figures import ALONG_TRAINING, Subject, missing, stem

    plans, left_out = [], []
    for study in studies:
        subject = Subject(study)
        goals: tuple[float | None, ...] = subject.goals or (None,)
        for kind in kinds:
            for goal in goals if kind not in ALONG_TRAINING else (None,):
                why = missing(kind, study, goal)
                if why:
                    left_out.append({"figure": kind, "study": study.name, "goal": goal, "why": why})
                    continue
                named = goal if alone or len(goals) > 1 else None
                plans.append(_Plan(subject, kind, goal, stem(study.name, kind, named)))
    return plans, left_out


def _reason(one: dict[str, Any]) -> str:
    goal = "" if one["goal"] is None else f" for goal {one['goal']:g}"
    return f"no {one['figure']} of {one['study']}{goal}: {one['why']}"


def _described(plan: _Plan) -> dict[str, Any]:
    return {"figure": plan.kind, "study": plan.subject.study.name, "goal": plan.goal}


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--to {folder}: cannot be made: {error.strerror}") from error


def _draw(plan: _Plan, formats: Sequence[Format], folder: Path, width: Width) -> list[Path]:
    from parsity.report.figures import draw, save

    figure = draw(plan.kind, plan.subject, plan.goal, width=width)
    paths = [folder / f"{plan.stem}.{form}" for form in formats]
    for path in paths:
        save(figure, path)
    return paths
