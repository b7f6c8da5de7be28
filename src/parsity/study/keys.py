"""The keys of a study file: what each says, what it may be, and whether it may grow once the study has begun.

One table serves the model, its JSON schema, the messages, the comments of `parsity new` and the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from parsity.study.names import CRITERIA, DATA, ENGINES, NETWORKS, OPTIMISERS, SCHEDULES, TESTS
from parsity.training import WORKLOADS

LARGEST_BATCH = 2**20
MOST_TRIALS = 2**16
MOST_STEPS = 2**31
LARGEST_SEED = 2**62
MOST_THREADS = 1024
MOST_RANKS = 1024


@dataclass(frozen=True)
class Key:
    """One key: a sentence about it, what is allowed, what stands where it is left out, whether it may grow."""

    what: str
    allowed: str
    default: str
    grows: bool = False


def _names(names: tuple[str, ...]) -> str:
    return f"{', '.join(names)}, or an import path package.module:function"


KEYS = {
    "name": Key("What the study is called in tables and figures.", "a line of text", "the workload's name"),
    "workload": Key(
        "What is trained: the name of a built-in workload, or a table of data, network, optimiser and schedule.",
        f"{', '.join(WORKLOADS)}, or a table with data and network",
        "",
    ),
    "workload.data": Key("The images and their labels.", _names(DATA), ""),
    "workload.network": Key("The network, as a callable without arguments that builds it.", _names(NETWORKS), ""),
    "workload.optimiser": Key("How weights follow gradients.", _names(OPTIMISERS), "momentum"),
    "workload.schedule": Key("How the learning rate changes from step to step.", _names(SCHEDULES), "constant"),
    "goals": Key(
        "The errors to reach on the whole validation split; the same runs serve them all.",
        "a list of numbers, 0 <= goal < 1, none twice",
        "the workload's",
        grows=True,
    ),
    "check_interval": Key(
        "Every so many steps a trial is asked whether it has reached the goal.",
        f"1 to {MOST_STEPS:,}",
        "the workload's; 16",
    ),
    "step_limit": Key(
        "A trial that has not reached the goal after so many steps is incomplete.",
        f"a multiple of check_interval, at most {MOST_STEPS:,}",
        "the workload's; 40,000",
    ),
    "batch_sizes": Key(
        "The batch sizes; each at every sparsity is one cell of the grid.",
        f"a list of whole numbers from 1 to {LARGEST_BATCH:,}, none twice",
        "the desk preset's; 2, 8, 32, 128, 512, 2,048",
        grows=True,
    ),
    "sparsities": Key(
        "The fractions of the network pruned before training; 0 is dense.",
        "a list of numbers, 0 <= sparsity < 1, none twice",
        "the desk preset's; 0, 0.5, 0.7, 0.9",
        grows=True,
    ),
    "criterion": Key("What decides which parameters are pruned.", _names(CRITERIA), "snip"),
    "eligible": Key('Whether pruning may take biases too ("all") or weights alone.', "all, weights", "all"),
    "trials": Key(
        "How many points of the search space each cell tries. A study of 16 can be extended to 100 and keeps the 16.",
        f"a whole number from 1 to {MOST_TRIALS:,}",
        "the desk preset's; 16",
        grows=True,
    ),
    "patience": Key(
        "How far the other trials go on once one has reached the goal: to so many times its steps. 1 measures the "
        "fewest steps and nothing else, exactly; 2 to 4 leave a cloud of complete trials for the figures of "
        "metaparameters; inf runs every trial to the goal or the limit, the paper's protocol to the letter.",
        "a number of at least 1, or inf",
        "the desk preset's; 2",
        grows=True,
    ),
    "space": Key(
        "Where each metaparameter is searched, or the value it is fixed to.",
        "a table of metaparameters, each with scale (log, reverse-log, linear, integer), low and high; "
        "or options; or a fixed value",
        "the paper's ranges",
    ),
    "sequence": Key("The sequence that fills the search space.", "sobol, halton", "sobol"),
    "seed": Key("Where initial weights and the order of images come from.", "a whole number from 0 to 2^62", "0"),
    "device": Key("Where trials run.", "cpu, auto, cuda, cuda:0, cuda:1, ...", "cpu"),
    "threads": Key(
        "Threads per trial; one process per core with one thread each is the fastest use of a CPU.",
        f"a whole number from 1 to {MOST_THREADS:,}",
        "1",
    ),
    "ranks": Key(
        "Processes of one machine that share every batch of a trial; see parallel.md.",
        f"a whole number from 1 to {MOST_RANKS:,}",
        "1",
    ),
    "engine": Key(
        "What computes the steps; auto takes, for each cell, the one that was fastest when it began, and keeps it.",
        ", ".join(ENGINES),
        "auto",
    ),
    "test": Key(
        "How the goal is asked about: certified gives the exact answer, confident a sample's, wrong once in 10^9.",
        ", ".join(TESTS),
        "certified",
    ),
}


def key(name: str, default: Any = ..., **limits: Any) -> Any:
    """The pydantic field of a key in the table."""
    return Field(default, description=KEYS[name].what, **limits)
