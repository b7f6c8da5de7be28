"""``parsity smoothness``: the local Lipschitz constant along training, and the constants of the theory."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.smoothness import SmoothnessSpec
    from parsity.training import Workload

EXAMPLES = """\
WORKLOAD is the name of a built-in workload, a study file, or the folder of a study: whose network is trained. Running
the same again goes on where it stopped; more sparsities, more steps or an interval that divides the old one extend it.
In a study's folder (--folder), the measurement is part of what `parsity figures` and `parsity report` show.

examples:
  parsity smoothness digits
  parsity smoothness mnist-sgd --sparsities 0,0.5,0.7,0.9 --steps 5000 --set learning_rate=0.1
  parsity smoothness results/mnist --folder results/mnist --interval 250 --images 10000
  parsity smoothness mnist-sgd --show --json"""
_NUMBERS = {
    "batch-size": ("N", "images in a training step (default: 100)"),
    "steps": ("N", "training steps (default: 5000)"),
    "interval": ("N", "measure at every N-th step (default: 100)"),
    "images": ("N", "images the gradient is taken over (default: the whole training split)"),
    "noise-interval": ("N", "sample single-image gradients at every N-th step; 0: at the start alone (default: 1000)"),
    "noise-images": ("N", "how many of them; at the start, all are looked at; 0: never (default: 2000)"),
    "curvature-interval": ("N", "look at the Hessian at every N-th step; 0: at the start alone (default: 1000)"),
    "curvature-images": ("N", "the Hessian of so many images' loss; 0: never (default: 500)"),
    "lanczos": ("N", "at most so many products for its largest eigenvalue (default: 12)"),
    "probes": ("N", "so many products for its trace (default: 8)"),
    "trial": ("N", "whose initial weights and order of data, counted from 1 (default: 1)"),
    "seed": ("N", "the study's seed (default: 0)"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity smoothness``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("workload", metavar="WORKLOAD", help="a built-in workload, a study file, or a study's folder")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where it lives (default: WORKLOAD-smoothness)")
    parser.add_argument("--sparsities", metavar="LIST", help="fractions to prune (default: 0,0.5,0.7,0.9)")
    parser.add_argument("--delta", type=float, metavar="D", help="gamma runs through D, 2D, .., 1 (default: 0.1)")
    for name, (metavar, text) in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, metavar=metavar, help=text)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a metaparameter; may be repeated"
    )
    parser.add_argument("--engine", metavar="NAME", help="auto, native, traced or plain (default: auto)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads (default: 1)")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="a folder that has the data set's files")
    parser.add_argument("--show", action="store_true", help="measure nothing, print what there is")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run(arguments: argparse.Namespace) -> int:
    """Measure what is left, and print what was found."""
    from parsity.cli.smoothness_text import Line, print_smoothness, smoothness_document
    from parsity.cli.tables import print_json
    from parsity.smoothness import STORE, SmoothnessStore

    workload = _workload(arguments.workload)
    folder = arguments.folder or Path(f"{Path(arguments.workload).stem or workload.name}-smoothness")
    code = 0
    if not arguments.show:
        spec = _spec(arguments, workload, folder)
        from parsity.smoothness import measure

        with Line(spec, folder) as line:
            ended = measure(folder, spec, data_folder=arguments.data_dir, threads=arguments.threads, watch=line.show)
        code = ended.exit_code
    if not (folder / STORE).is_file():
        raise UsageError(f"{folder}: nothing was measured here; `parsity smoothness` without --show does")
    with SmoothnessStore.open(folder / STORE) as store:
        found = store.smoothness()
    if arguments.json:
        print_json(smoothness_document(found))
    else:
        print_smoothness(found)
    return code


def _workload(name: str) -> Workload:
    from parsity.training import WORKLOADS, workload

    if name in WORKLOADS:
        return workload(name)
    from parsity.study import Study, find_spec

    if Path(name).is_dir():
        return Study.open(name).spec.make_workload()
    if Path(name).suffix == ".toml":
        return find_spec(name).make_workload(name)
    return workload(name)


def _spec(arguments: argparse.Namespace, workload: Workload, folder: Path) -> SmoothnessSpec:
    """What the folder has been asked already, with what is asked now."""
    from parsity.smoothness import STORE, SmoothnessSpec, SmoothnessStore

    choices: dict[str, Any] = {
        name.replace("-", "_"): value
        for name in (*_NUMBERS, "delta", "engine")
        if (value := getattr(arguments, name.replace("-", "_"))) is not None
    }
    if arguments.sparsities is not None:
        choices["sparsities"] = _list("--sparsities", arguments.sparsities)
    given = dict(_pair(text) for text in arguments.set)
    if (folder / STORE).is_file():
        with SmoothnessStore.open(folder / STORE) as store:
            older = store.spec
        sparsities = {*older.sparsities, *choices.pop("sparsities", ())}
        fresh = SmoothnessSpec.of(workload, metaparameters={**older.metaparameters, **given})
        asked = older.with_(
            **{name: getattr(fresh, name) for name in ("data", "network", "optimiser", "schedule", "criterion")},
            metaparameters=fresh.metaparameters,
            sparsities=tuple(sparsities),
            **choices,
        )
        asked.check_growth(older)
        return asked
    return SmoothnessSpec.of(workload, metaparameters=given, **choices)


def _list(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text!r}: give one number, or several between commas, like 0,0.5,0.9") from None


def _pair(text: str) -> tuple[str, float | int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value) if value.strip().lstrip("+-").isdigit() else float(value)
    except ValueError:
        raise UsageError(f"--set {text!r}: give NAME=VALUE with a number, like learning_rate=0.1") from None
