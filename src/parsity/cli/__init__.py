"""The command line: one module per verb, imported only when that verb is called.

Every verb module offers ``configure(parser)``, which declares its arguments, and ``run(arguments)``, which does the
work and returns an exit code. Heavy imports belong inside ``run``: ``parsity --help`` must never import torch.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import keyword
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from parsity import __version__
from parsity.cli.transfers import talking
from parsity.errors import ParsityError, UsageError

VERBS = {
    "data": "list, fetch, check and show the data sets",
    "presets": "list the studies that come with Parsity",
    "new": "write a study file from a preset",
    "run": "measure a study, or go on with it",
    "status": "say how far a study is, and who is at work on it",
    "watch": "show a study while it is measured, cell by cell, until it is finished",
    "serve": "show the report of a study on a page of this machine's own, always up to date",
    "table": "print steps-to-result by batch size and sparsity",
    "trials": "list every trial of a study and how it ended",
    "verify": "check every digest of a study",
    "export": "write a study's results in another format",
    "import": "make a study of exported results, or of those in the batch-science layout",
    "report": "write one HTML file about studies: the answer, the curves, how far to trust it",
    "analyse": "fit the scaling, compare sparse with dense, judge the search and the paper's claims",
    "plan": "say how many workers are worth having: time and cost of a training run against their number",
    "figures": "draw the paper's figures from stored results",
    "compare": "lay two studies side by side",
    "smoothness": "measure the Lipschitz constant along training, and the constants of the theory",
    "predict": "forecast the steps of a sparsity that is not measured yet",
    "train": "train with several workers that share every batch",
    "scale": "measure seconds per training step by slice, workers and sparsity",
    "prune": "prune a network at initialisation and say what is left of each layer",
}

EPILOGUE = """\
exit codes:
  0 fine   1 failed   2 bad usage   3 finished, with trials set aside   4 damaged files
  75 busy, try again later   130/143 interrupted by a signal

Results go to standard output, remarks to standard error. `parsity VERB --help` tells more."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one ``parsity`` command and return its exit code."""
    _mend_streams()
    try:
        arguments = _parse(list(sys.argv[1:] if argv is None else argv))
        with talking():
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except ParsityError as error:
        print(f"parsity: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Our reader has gone (`parsity ... | head`): leave quietly, whatever else is left to flush.
        _discard_output()
        return 0
    except OSError as error:
        # A full disk behind `>`, a name too long for a file: the system's refusal, in its own words.
        _discard_output()
        sys.stderr.write(f"parsity: {error.filename or 'standard output'}: {error.strerror or error}\n")
        return ParsityError.exit_code
    return code


def _mend_streams() -> None:
    """A closed stream is written to in vain, and a letter that a stream does not know is written in escapes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  # as long as the process
        elif isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    with contextlib.suppress(OSError):  # a stream of a caller's own has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _known(called: str | None) -> None:
    if called is not None and called not in VERBS:
        close = difflib.get_close_matches(called, VERBS, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise UsageError(f"no verb {called!r}{hint}; the verbs are {', '.join(VERBS)}")


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="parsity",
        description="How many training steps to a goal error, as the batch grows and as the network is pruned.",
        epilog=EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"parsity {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    # Only the verb that is called pays for its module; the others are known by name.
    called = next((word for word in argv if not word.startswith("-")), None)
    _known(called)
    for name, summary in VERBS.items():
        verb = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == called:
            # A module cannot be called `import`; one underscore makes it a name.
            home = f"{name}_" if keyword.iskeyword(name) else name
            module = importlib.import_module(f"parsity.cli.{home}")
            module.configure(verb)
            verb.set_defaults(run=module.run)
    return parser.parse_args(argv)
