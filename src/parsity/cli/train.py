"""``parsity train``: train a trial, or race a cell's trials, with several workers that share every batch."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from dataclasses import replace
from typing import TYPE_CHECKING

from parsity.cli.ranks import as_rank, configure_ranks, find, say, warn_of_crowd
from parsity.cli.values import fraction, number, worker_count
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from parsity.parallel import ParallelResult
    from parsity.study import StudySpec
    from parsity.training import Workload

EXAMPLES = """\
Every worker takes its part of each batch; gradients are averaged, of a pruned network the surviving ones alone. The
outcome is that of one process with the whole batch. On one machine Parsity starts the workers; started by torchrun,
this process is one of them.

examples:
  parsity train digits --batch-size 64 --workers 2
  parsity train mnist-momentum --batch-size 512 --sparsity 0.9 --trial 3 --workers 4 --json
  parsity train digits --batch-size 64 --trials 16 --workers 2
  torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \\
      -m parsity train mnist-momentum --batch-size 512

Exit code 75: a worker was lost, and so the others ended; trying again can succeed."""
RETRIES = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity train``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    configure_ranks(parser)
    parser.add_argument("--batch-size", type=number, required=True, metavar="B", help="of all workers together")
    parser.add_argument("--sparsity", type=fraction, default=0.0, metavar="S", help="to prune (default: 0)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--trial", type=number, metavar="I", help="the trial's number in the search (default: 1)")
    which.add_argument("--trials", type=number, metavar="N", help="race trials 1 to N: the cell's steps-to-result")
    parser.add_argument("--workers", type=worker_count, metavar="W", help="processes on this machine (default: 1)")
    parser.add_argument("--steps", type=number, metavar="N", help="another step limit, a multiple of check_interval")
    parser.add_argument(
        "--retries", type=int, metavar="N", help=f"how often to try again when a worker is lost (default: {RETRIES})"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, and print what came of it."""
    from parsity.cli.tables import print_json
    from parsity.parallel import started_by_torchrun

    if arguments.retries is not None and arguments.retries < 0:
        raise UsageError(f"--retries {arguments.retries}: it must be at least 0")
    if arguments.steps is not None:
        arguments.set = [*arguments.set, f"step_limit={arguments.steps}"]
    spec = find(arguments)
    if started_by_torchrun():
        result, first = _as_one_of_torchruns(arguments, spec)
        if not first:
            return 0
    else:
        result = _with_workers_of_our_own(arguments, spec)
    if arguments.json:
        print_json(result.document())
    else:
        print_result(result)
    return 0


def _numbers(arguments: argparse.Namespace) -> tuple[int, ...]:
    return tuple(range(1, arguments.trials + 1)) if arguments.trials else (arguments.trial or 1,)


def _workload(spec: StudySpec, source: str) -> Workload:
    """What is trained; one's own goes by its study's name, as it has no other."""
    found = spec.make_workload(source)
    return found if isinstance(spec.workload, str) else replace(found, name=spec.name)


def _with_workers_of_our_own(arguments: argparse.Namespace, spec: StudySpec) -> ParallelResult:
    from parsity.parallel import TIMEOUT, train

    workers = arguments.workers or 1
    warn_of_crowd(workers, spec.threads)
    return train(
        _workload(spec, arguments.workload),
        arguments.batch_size,
        arguments.sparsity,
        workers=workers,
        trials=_numbers(arguments),
        patience=spec.patience,
        seed=spec.seed,
        engine=spec.engine,
        device=spec.device,
        threads=spec.threads,
        test=spec.test,
        data_folder=arguments.data_dir,
        packed=not arguments.unpacked,
        retries=RETRIES if arguments.retries is None else arguments.retries,
        timeout=arguments.timeout or TIMEOUT,
        say=say,
    )


def _as_one_of_torchruns(arguments: argparse.Namespace, spec: StudySpec) -> tuple[ParallelResult, bool]:
    from parsity.parallel import TIMEOUT, TrainingJob

    for option in ("workers", "retries"):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option}: torchrun started this process, and decides that (--nproc-per-node, --max-restarts)"
            )
    job = TrainingJob(
        workload=_workload(spec, arguments.workload),
        batch_size=arguments.batch_size,
        sparsity=arguments.sparsity,
        numbers=_numbers(arguments),
        patience=spec.patience,
        seed=spec.seed,
        engine=spec.engine,
        device=spec.device,
        threads=spec.threads,
        test=spec.test,
        data_folder=arguments.data_dir,
        packed=not arguments.unpacked,
    )
    result, group = as_rank(job, arguments.timeout or TIMEOUT, say)
    return result, group.first


def print_result(result: ParallelResult) -> None:
    """A line per trial and goal, and what a step cost."""
    from parsity.cli.tables import counted, metaparameter_columns, print_table, print_title, short

    cell = result.cell
    print_title(
        f"{cell.workload}: B={cell.batch_size}, sparsity {short(cell.sparsity)}, "
        f"{counted(result.workers, 'worker')}, {cell.engine} engine"
    )
    rows = [(goal, trial, trial.outcomes[goal]) for trial in cell.trials for goal in cell.goals]
    given = metaparameter_columns([trial.metaparameters for _, trial, _ in rows])
    columns = {
        "trial": [str(trial.number) for _, trial, _ in rows],
        "goal": [short(goal) for goal, _, _ in rows],
        "outcome": [outcome.status for _, _, outcome in rows],
        "step": [f"{outcome.step:,}" for _, _, outcome in rows],
        **given,
    }
    numbers = ("trial", "goal", "step", *given)
    print_table(list(columns), list(zip(*columns.values(), strict=True)), numbers=numbers)
    if len(cell.trials) > 1:
        for goal in cell.goals:
            steps = cell.steps_to_result(goal)
            found = "not reached" if steps is None else f"{steps:,}"
            sys.stdout.write(f"steps to goal {short(goal)}: {found}\n")
    sys.stdout.write(
        f"{cell.seconds:.1f} s, {counted(result.steps, 'step')}: {result.compute * 1e3:.3g} ms compute and "
        f"{result.exchange * 1e3:.3g} ms exchange a step (medians)\n"
        f"{result.bytes_per_step:,} bytes a step from each worker, for {result.kept:,} of {result.parameters:,} "
        "parameters and the loss\n"
        if result.workers > 1
        else f"{cell.seconds:.1f} s, {counted(result.steps, 'step')}: {result.compute * 1e3:.3g} ms a step (median)\n"
    )
    if result.attempts > 1:
        sys.stdout.write(f"attempts: {result.attempts}\n")
