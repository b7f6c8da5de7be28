"""A process that adds results until it is killed, or has no room left; many of them, forked from one that is warm.

Reads lines of JSON: what to do, on which file, under which limits. For each it forks a child, which does it and writes
what has been acknowledged, line by line; after the child's end comes a line ``gone`` with how it ended.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from make_believe import add, best_steps, measured

from parsity.errors import ParsityError
from parsity.study import Store


def say(*words: object) -> None:
    """One line, in one write: a kill cannot cut it."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def add_all(path: Path, seed: int) -> None:
    """Add all that is due, a few trials at a time, in an order of this process's own."""
    rng = random.Random(seed)
    with Store.open(path, writable=True) as store:
        grid = store.grid
        run = store.begin_run({"seed": seed})
        keys = rng.sample(grid.cells, len(grid.cells))
        for key in keys:
            due = store.due(*key)
            rng.shuffle(due)
            best = best_steps(*key, range(1, grid.trials + 1), grid.goals)
            while due:
                some, due = due[: (count := rng.randint(1, 3))], due[count:]
                results = [measured(*key, number, grid.patience, best) for number in some]
                add(store, *key, results, run, grid.patience)
                say("added", *key, *some)
        store.end_run(run, "finished")


def do(order: dict[str, Any]) -> None:
    """What the child does."""
    path = Path(order["path"])
    if "room" in order:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["room"], order["room"]))
        if order.get("die"):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if order.get("nobody") and os.geteuid() == 0:
        os.setuid(65534)
    try:
        if order["what"] == "add":
            add_all(path, order["seed"])
        else:
            with Store.open(path, writable=order["what"] == "migrate") as store:
                say("digest", store.digest())
    except ParsityError as error:
        say("refused", type(error).__name__, error.exit_code, error)
        os._exit(error.exit_code)


def main() -> None:
    """Serve orders until there are no more."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                do(json.loads(line))
                code = 0
            finally:
                os._exit(code)
        say("pid", child)
        _, status = os.waitpid(child, 0)
        say("gone", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
