"""What ``parsity train`` and ``parsity scale`` share: the workload they are given, and the ranks that run it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from parsity.cli.values import seconds
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.parallel import Group, Job
    from parsity.study import StudySpec

Found = TypeVar("Found")


def configure_ranks(parser: argparse.ArgumentParser) -> None:
    """Declare what both verbs take."""
    parser.add_argument(
        "workload", metavar="WORKLOAD", help="a built-in workload, a study file, or the folder of a study"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key; may be repeated"
    )
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="seconds of silence before a rank counts as lost (default: 300)"
    )
    parser.add_argument("--unpacked", action="store_true", help="send pruned gradients too, for comparison")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="a folder with the data set's files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def find(arguments: argparse.Namespace) -> StudySpec:
    """The spec of the study file, preset or study's folder that was named, with what --set says."""
    from parsity.study import PRESETS, STORE, Study, StudySpec, apply_overrides, find_spec

    if arguments.data_dir is not None and not arguments.data_dir.is_dir():
        raise UsageError(f"--data-dir {arguments.data_dir}: there is no such folder")
    path, name = Path(arguments.workload), arguments.workload
    if path.is_dir() and ((path / STORE).exists() or name not in {preset.name for preset in PRESETS}):
        spec = Study.open(path).spec
        return StudySpec.from_document(apply_overrides(spec.document(), arguments.set), name)
    return find_spec(name, overrides=arguments.set)


def as_rank(job: Job[Found], timeout: float, say: Callable[[str], None]) -> tuple[Found, Group]:
    """Do this process's part, torchrun having started it."""
    from parsity.parallel import joined_by_torchrun

    with ExitStack() as stack:
        group = stack.enter_context(joined_by_torchrun(device=job.device, timeout=timeout))
        found = job.run(group, say if group.first else lambda text: None)
        group.gathered(None)  # nobody leaves while another still needs the connection
        return found, group


def say(text: str) -> None:
    """A remark."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def warn_of_crowd(workers: int, threads: int) -> None:
    """Say so where ranks share cores: their compute is then slower than it would be on machines of their own."""
    from parsity.study import cores

    if workers * threads > cores():
        say(f"{workers} workers of {threads} thread{'s'[: threads > 1]} share {cores()} cores: each computes slower")
