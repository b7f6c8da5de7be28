"""``parsity report``: one HTML file about one study or several, which opens anywhere."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

MARK = '<meta name="generator" content="parsity'
HEAD = 1000  # letters of a page within which its mark stands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity report``."""
    parser.add_argument(
        "folders", type=Path, nargs="+", metavar="FOLDER", help="a study's folder; several side by side"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("report.html"), metavar="FILE", help="what to write (default: report.html)"
    )
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all)")
    parser.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        help="step times of `parsity scale`: say how many workers are worth having",
    )
    parser.add_argument("--json", action="store_true", help="say what was written as JSON")
    parser.epilog = (
        "An older report in FILE is replaced; any other file is left alone. The page asks no server for anything."
    )


def run(arguments: argparse.Namespace) -> int:
    """Write it, and say where."""
    from parsity.cli.reported import make_page
    from parsity.cli.tables import print_json
    from parsity.whole_file import write_whole

    path: Path = arguments.output
    _check(path)
    text = make_page(
        arguments.folders, goal=arguments.goal, command=_command(arguments), times=arguments.times
    ).encode()
    write_whole(path, text)
    if arguments.json:
        print_json({"folders": [str(folder) for folder in arguments.folders], "path": str(path), "bytes": len(text)})
    else:
        sys.stdout.write(f"{path}\n")
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """The command that writes the page again."""
    words = ["parsity", "report", *map(str, arguments.folders)]
    if arguments.goal is not None:
        words += ["--goal", f"{arguments.goal:g}"]
    if arguments.times is not None:
        words += ["--times", str(arguments.times)]
    if arguments.output != Path("report.html"):
        words += ["--output", str(arguments.output)]
    return shlex.join(words)


def _check(path: Path) -> None:
    """Refuse to write where something else is."""
    try:
        if path.is_dir():
            raise UsageError(f"--output {path}: this is a folder; give the name of a file")
        if not path.parent.is_dir():
            raise UsageError(f"--output {path}: there is no folder {path.parent}")
        if not path.exists():
            return
        with path.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(HEAD)
    except OSError as error:
        raise UsageError(f"--output {path}: cannot be read ({error.strerror})") from error
    if head and MARK not in head:
        raise UsageError(f"--output {path}: there is something else already; give another name")
