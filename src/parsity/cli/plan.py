"""``parsity plan``: how many workers are worth having, from measured steps-to-result and measured step times."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.cli.studies import configure_reading
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.planning import Cluster, Plan, Wish

EPILOGUE = """\
Without a described cluster, the plan is for the machine that `parsity scale` measured. A cluster has a device for each
worker:
  parsity plan STUDY --times times.json --bandwidth 10Gbit --latency 20us --device-speed 50x --deadline 10min
or in a file: bandwidth = "10Gbit", latency = "20us", device_speed = "50x", exchange = "ring" (or "halving")."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity plan``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EPILOGUE
    configure_reading(parser)
    parser.add_argument("--times", type=Path, metavar="FILE", help="step times, of `parsity scale --output FILE`")
    parser.add_argument(
        "--workers", metavar="LIST", help="numbers of workers, like 1,2,4 or 1-8 (default: 1, 2, 4, ...)"
    )
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="a described cluster, in TOML")
    parser.add_argument("--bandwidth", metavar="RATE", help="of each worker's link, like 10Gbit")
    parser.add_argument("--latency", metavar="TIME", help="of a message however short, like 20us")
    parser.add_argument("--device-speed", metavar="FACTOR", help="times as fast as the one measured, like 50x")
    parser.add_argument("--deadline", metavar="TIME", help="until the goal is to be reached, like 10min")
    parser.add_argument("--budget", metavar="COST", help="what reaching it may cost, like 5core-hours")
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all that were reached)")
    parser.add_argument("--figure", type=Path, metavar="PATH", help="draw it: a name that ends in .svg, .pdf or .png")


def run(arguments: argparse.Namespace) -> int:
    """Make the plan of each goal, and print it."""
    from parsity.cli.plan_text import plan_document, print_plan
    from parsity.cli.tables import print_json

    plans = _plans(arguments)
    if arguments.figure is not None:
        _draw(plans, arguments.figure)
    if arguments.json:
        print_json({"plans": [plan_document(plan) for plan in plans]})
        return 0
    for place, plan in enumerate(plans):
        if place:
            sys.stdout.write("\n")
        print_plan(plan)
    if arguments.figure is not None:
        sys.stdout.write(f"\n{arguments.figure}\n")
    return 0


def plans_of(folder: Path, times: Path, *, goal: float | None = None, wish: Wish | None = None) -> list[Plan]:
    """A plan for each goal of the study in ``folder`` that some cell has reached."""
    from parsity.cli.measured import measured_study, with_goal
    from parsity.planning import make_plan, measured_goals
    from parsity.results import read_step_times

    study = with_goal(measured_study(folder), goal)
    found = read_step_times(times)
    goals = measured_goals([study])
    if not goals:
        raise UsageError(f"{folder}: no trial has reached a goal, so there is nothing to plan")
    return [make_plan(study, one, found, wish) for one in goals]


def _plans(arguments: argparse.Namespace) -> list[Plan]:
    from parsity.planning import Wish, budget, duration

    if arguments.figure is not None:
        _check_figure(arguments.figure)
    wish = Wish(
        cluster=_cluster(arguments),
        workers=_workers(arguments.workers),
        deadline=duration(arguments.deadline, "--deadline") if arguments.deadline is not None else None,
        budget=budget(arguments.budget, "--budget") if arguments.budget is not None else None,
    )
    if arguments.times is None:
        raise UsageError("--times FILE is missing: `parsity scale --output FILE` measures step times and makes it")
    return plans_of(arguments.folder, arguments.times, goal=arguments.goal, wish=wish)


def _cluster(arguments: argparse.Namespace) -> Cluster | None:
    from parsity.planning import Cluster, read_cluster

    given = {key: getattr(arguments, key) for key in ("bandwidth", "latency", "device_speed")}
    if arguments.cluster is None and not any(text is not None for text in given.values()):
        return None
    known = read_cluster(arguments.cluster) if arguments.cluster is not None else Cluster()
    return known.but(**given)


def _workers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    found: set[int] = set()
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(first) < 1 or int(last or first) > 10**6:
            raise UsageError(f"--workers {text!r}: it must be whole numbers from 1 up to a million, like 1,2,4 or 1-8")
        found |= set(range(int(first), int(last or first) + 1))
    if not found:
        raise UsageError(f"--workers {text!r}: no number is in it")
    return tuple(sorted(found))


def _check_figure(path: Path) -> None:
    from parsity.report.figures import FORMATS

    if path.suffix.removeprefix(".") not in FORMATS:
        raise UsageError(f"--figure {path}: its name must end in {', '.join(f'.{one}' for one in FORMATS)}")
    if not path.parent.is_dir():
        raise UsageError(f"--figure {path}: there is no folder {path.parent}")


def _draw(plans: list[Plan], path: Path) -> None:
    """One figure; of several goals, the hardest: `--goal` chooses another."""
    from parsity.report.figures import draw_time_to_result, save

    if len(plans) > 1:
        others = ", ".join(f"{plan.goal:g}" for plan in plans[1:])
        sys.stderr.write(f"--figure: drawn for goal {plans[0].goal:g}; --goal chooses another ({others})\n")
    save(draw_time_to_result(plans[0]), path)
