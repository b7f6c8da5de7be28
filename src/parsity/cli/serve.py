"""``parsity serve``: the report of studies on a page of this machine's own, kept up to date while they are measured."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from parsity.cli.values import whole
from parsity.errors import BusyError, UsageError

if TYPE_CHECKING:
    import argparse

PORT = 8321
LAST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity serve``."""
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a study's folder; it may be to come")
    parser.add_argument(
        "--port", type=whole(0, LAST_PORT), default=PORT, metavar="N", help=f"0: any free one (default: {PORT})"
    )
    parser.add_argument("--goal", type=float, metavar="ERROR", help="this goal alone (default: all)")
    parser.add_argument("--json", action="store_true", help="say where the page is as JSON")
    parser.epilog = "Only programs of this machine can see the page, and nothing can be changed by it. Ctrl-C ends it."


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from parsity.cli.serving import Served, Server
    from parsity.cli.tables import print_json

    served = Served(arguments.folders, goal=arguments.goal)
    problem = served.look().problem
    try:
        server = Server(served, arguments.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BusyError(f"--port {arguments.port}: it is taken; --port 0 takes any that is free") from error
        raise UsageError(f"--port {arguments.port}: it cannot be used ({error.strerror})") from error
    with server:
        if arguments.json:
            print_json({"folders": list(map(str, arguments.folders)), "address": server.address, "port": server.port})
        else:
            sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        if problem is not None:
            sys.stderr.write(f"{problem}\n")
        sys.stderr.write("Ctrl-C ends it\n")
        server.serve_forever()
    return 0
