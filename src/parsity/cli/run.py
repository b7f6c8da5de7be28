"""``parsity run``: measure a study, or go on with it."""

from __future__ import annotations

import math
import re
import sys
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.cli.values import number, worker_count
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.study import Study, StudySpec

EXAMPLES = """\
STUDY is a study file (`parsity new PRESET > study.toml`), the name of a preset (`parsity presets`), or the folder of a
study that has begun. Running it again goes on where it stopped; asking for more trials, batch sizes, sparsities, goals
or patience extends it, and keeps what is done.

examples:
  parsity run digits
  parsity run study.toml --folder results/mnist --set trials=32
  parsity run mnist-momentum --dry-run

With --passes, cells that nobody finishes do not hold up the others: their checkpoints stay, and a run with more passes,
or without, goes on.

The first Ctrl-C leaves checkpoints and ends; the second ends at once. Either way nothing measured is lost."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity run``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("study", metavar="STUDY", help="a study file, a preset, or the folder of a study")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the study lives (default: its name, here)")
    parser.add_argument("--scale", metavar="SCALE", help="desk or paper, for a preset (default: desk)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key; may be repeated"
    )
    parser.add_argument("--workers", type=worker_count, metavar="N", help="processes to use (default: one per core)")
    parser.add_argument("--executor", choices=["local", "serial", "ray"], default="local", help="where trials are run")
    parser.add_argument("--address", metavar="ADDR", help="of a Ray cluster (default: one of this machine's own)")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="a folder with the data set's files")
    parser.add_argument(
        "--passes",
        type=number,
        metavar="N",
        help="leave a cell for later when its trials have gone N times through the data and none has reached the goal",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be run and what it would take")


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from parsity.cli.progress import Progress, left_line
    from parsity.study import Study

    if arguments.data_dir is not None and not arguments.data_dir.is_dir():
        raise UsageError(f"--data-dir {arguments.data_dir}: there is no such folder")
    if arguments.executor == "serial" and arguments.workers not in (None, 1):
        raise UsageError(f"--workers {arguments.workers}: the serial executor has one")
    folder, spec = _target(arguments)
    if arguments.dry_run:
        return _dry_run(folder, spec, 1 if arguments.executor == "serial" else arguments.workers)
    study = Study.create(folder, spec) if spec is not None else Study.open(folder)
    with Progress(study.spec, folder) as progress:
        ended = study.run(
            executor=arguments.executor,
            workers=arguments.workers,
            address=arguments.address,
            data_folder=arguments.data_dir,
            passes=arguments.passes or math.inf,
            watch=progress.show,
        )
    _conclude(study, ended.how)
    for piece in ended.left:
        sys.stderr.write(f"{left_line(piece)}; a run with more --passes, or without, goes on\n")
    for aside in ended.set_aside:
        sys.stderr.write(
            f"set aside: B={aside.batch_size} S={aside.sparsity:g} trial {aside.number}: {aside.reason} "
            f"(tried {aside.attempts} times)\n"
        )
    return ended.exit_code


def _target(arguments: argparse.Namespace) -> tuple[Path, StudySpec | None]:
    """The study's folder, and the spec it shall have; none where it has one and nothing is to change."""
    from parsity.study import PRESETS, STORE, Study, StudySpec, apply_overrides, find_spec

    path = Path(arguments.study)
    # A folder that only happens to have a preset's name is none that is meant.
    a_preset = arguments.study in {preset.name for preset in PRESETS}
    if path.is_dir() and ((path / STORE).exists() or not a_preset):
        if arguments.folder not in (None, path) or arguments.scale:
            raise UsageError(f"{path}: it is a study's folder; --folder and --scale go with a study file or a preset")
        old = Study.open(path).spec
        spec = StudySpec.from_document(apply_overrides(old.document(), arguments.set), str(path))
        return path, spec if arguments.set else None
    spec = find_spec(arguments.study, scale=arguments.scale, overrides=arguments.set)
    folder = arguments.folder or Path(re.sub(r"[^\w.-]+", "-", spec.name))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: it is a file; name the study's folder with --folder")
    if folder.is_dir() and not (folder / STORE).exists() and any(folder.iterdir()) and arguments.folder is None:
        raise UsageError(f"{folder}: the folder holds something else; name the study's folder with --folder")
    return folder, spec


def _dry_run(folder: Path, spec: StudySpec | None, workers: int | None) -> int:
    from parsity.cli.progress import duration
    from parsity.study import STORE, Study, estimated_hours, plan, usual_workers

    study = Study.open(folder) if (folder / STORE).exists() else None
    asked = spec or (study.spec if study else None)
    if asked is None:  # pragma: no cover - `_target` gives one or the other
        raise UsageError(f"{folder}: there is nothing to plan")
    pieces = plan(asked, study)
    workers = workers or usual_workers(asked)
    sys.stdout.write(f"{'batch size':>10} {'sparsity':>9} {'trials':>7} {'expected':>10}\n")
    for piece in pieces:
        batch_size, sparsity = piece.cell
        sys.stdout.write(f"{batch_size:>10} {sparsity:>9g} {len(piece.trials):>7} {duration(piece.seconds):>10}\n")
    total = sum(piece.seconds for piece in pieces)
    sys.stdout.write(
        f"{len(pieces)} cells, {sum(len(piece.trials) for piece in pieces)} trials: "
        f"about {duration(total)} of one core, {duration(total / workers)} with {workers} "
        f"worker{'' if workers == 1 else 's'}{f' of {asked.ranks} ranks each' if asked.ranks > 1 else ''}\n"
    )
    if estimated_hours(asked) is None and not (study and any(state.measured for state in study.state())):
        # A network of one's own may be a hundred times as fast, or as slow, as the one that stands in for it.
        sys.stderr.write(
            f"a guess: nothing is known of {asked.ingredients.network} yet, so it is taken for simple-cnn; "
            "the first cells that finish put it right\n"
        )
    return 0


def _conclude(study: Study, how: str) -> None:
    states = study.state()
    done = sum(state.finished for state in states)
    if how == "finished":
        sys.stderr.write(
            f"{done} of {len(states)} cells measured in {study.folder}; see: parsity table {study.folder}\n"
        )
    else:
        sys.stderr.write(f"stopped with {done} of {len(states)} cells measured; to go on: parsity run {study.folder}\n")
