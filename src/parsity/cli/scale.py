"""``parsity scale``: seconds per training step with so many workers, split into compute and exchange."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.cli.ranks import as_rank, configure_ranks, find, say, warn_of_crowd
from parsity.cli.values import fraction, number, several, worker_count
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.results import StepTimes
    from parsity.study import StudySpec

EXAMPLES = """\
A slice is what one worker takes of a batch: W workers with slices of b train with batches of W x b. Every combination
is measured on this machine, or on the machines that torchrun started this on. `parsity plan` reads what --output keeps.

examples:
  parsity scale digits --slices 8,64 --workers 1,2
  parsity scale mnist-momentum --slices 1,4,16,64,256 --workers 1,2 --sparsities 0,0.9 --output steps.json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity scale``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    configure_ranks(parser)
    parser.add_argument(
        "--slices",
        type=several(number),
        default=(1, 4, 16, 64, 256),
        metavar="LIST",
        help="images per worker and step (default: 1,4,16,64,256)",
    )
    parser.add_argument("--workers", type=several(worker_count), metavar="LIST", help="how many workers (default: 1,2)")
    parser.add_argument(
        "--sparsities", type=several(fraction), default=(0.0, 0.9), metavar="LIST", help="to prune (default: 0,0.9)"
    )
    parser.add_argument("--steps", type=number, default=40, metavar="N", help="steps to measure (default: 40)")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="keep the step times in this file")


def run(arguments: argparse.Namespace) -> int:
    """Measure, keep and print."""
    from parsity.cli.tables import print_json
    from parsity.parallel import started_by_torchrun

    if arguments.output is not None and not arguments.output.absolute().parent.is_dir():
        raise UsageError(f"--output {arguments.output}: there is no folder {arguments.output.parent}")
    spec = find(arguments)
    if started_by_torchrun():
        found, first = _as_one_of_torchruns(arguments, spec)
        if not first:
            return 0
    else:
        found = _with_workers_of_our_own(arguments, spec)
    if arguments.output is not None:
        try:
            found.write(arguments.output)
        except OSError as error:
            raise UsageError(f"--output {arguments.output}: {error.strerror}") from error
        say(f"kept: {arguments.output}")
    if arguments.json:
        print_json(asdict(found))
    else:
        print_times(found)
    return 0


def _with_workers_of_our_own(arguments: argparse.Namespace, spec: StudySpec) -> StepTimes:
    from parsity.parallel import TIMEOUT, step_times

    workers = arguments.workers or (1, 2)
    warn_of_crowd(max(workers), spec.threads)
    return step_times(
        spec.make_workload(arguments.workload),
        slices=arguments.slices,
        workers=workers,
        sparsities=arguments.sparsities,
        steps=arguments.steps,
        seed=spec.seed,
        engine=spec.engine,
        device=spec.device,
        threads=spec.threads,
        data_folder=arguments.data_dir,
        packed=not arguments.unpacked,
        machine=_machine(spec),
        timeout=arguments.timeout or TIMEOUT,
        say=say,
    )


def _as_one_of_torchruns(arguments: argparse.Namespace, spec: StudySpec) -> tuple[StepTimes, bool]:
    from parsity.parallel import TIMEOUT, TimingJob

    if arguments.workers is not None:
        raise UsageError("--workers: torchrun started this process, and decides that (--nnodes, --nproc-per-node)")
    job = TimingJob(
        workload=spec.make_workload(arguments.workload),
        slices=arguments.slices,
        sparsities=arguments.sparsities,
        steps=arguments.steps,
        seed=spec.seed,
        engine=spec.engine,
        device=spec.device,
        threads=spec.threads,
        data_folder=arguments.data_dir,
        packed=not arguments.unpacked,
    )
    found, group = as_rank(job, arguments.timeout or TIMEOUT, say)
    return replace(found, machine=_machine(spec)), group.first


def _machine(spec: StudySpec) -> dict[str, Any]:
    """What the times were measured on."""
    from parsity.study import gather_provenance

    facts = gather_provenance(threads=spec.threads)
    kept = ("parsity", "code", "python", "libraries", "system", "cpu", "cores", "threads", "started")
    return {**{name: facts[name] for name in kept}, "device": spec.device}


def print_times(found: StepTimes) -> None:
    """A row per combination."""
    from parsity.cli.tables import pointwise, print_table, print_title, short

    parts = found.workload
    print_title(
        f"{parts['network']} on {parts['data']}, {parts['optimiser']}, {found.engine} engine, "
        f"{found.parameters:,} parameters: milliseconds per step"
    )
    rows = sorted(found.rows, key=lambda row: (row.sparsity, row.workers, row.slice_size))
    columns = {
        "sparsity": [short(row.sparsity) for row in rows],
        "workers": [str(row.workers) for row in rows],
        "slice": [f"{row.slice_size:,}" for row in rows],
        "batch size": [f"{row.batch_size:,}" for row in rows],
        "step": pointwise(row.seconds * 1e3 for row in rows),
        "low": pointwise(row.low * 1e3 for row in rows),
        "high": pointwise(row.high * 1e3 for row in rows),
        "compute": pointwise(row.compute * 1e3 for row in rows),
        "exchange": pointwise(row.exchange * 1e3 for row in rows),
        "bytes sent": [f"{row.bytes_sent:,}" for row in rows],
        "images/s": [f"{row.batch_size / row.seconds:,.0f}" for row in rows],
    }
    print_table(
        list(columns),
        list(zip(*columns.values(), strict=True)),
        numbers=tuple(columns),
        dispensable=("low", "high", "batch size"),
    )
