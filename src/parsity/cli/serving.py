"""The server behind ``parsity serve``: two addresses, `/` and `/state.json`, of which neither leads to a file.

It listens on 127.0.0.1 alone, knows GET and HEAD alone, and answers only where it is asked for by its own name: another
site's page in the same browser, whose name was made to point here, is refused.
"""

from __future__ import annotations

import hashlib
import logging
import shlex
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from parsity.cli.live import Absence, Looking, Sight
from parsity.cli.reported import make_page
from parsity.cli.studies import chosen
from parsity.cli.tables import as_json
from parsity.errors import ParsityError

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
REST = 10.0
"""Seconds for which a page stands at least, and how many times as long as it took to make: a driver needs the cores."""
PATIENCE = 20.0  # seconds for which somebody may be silent before the connection is closed
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True)
class Look:
    """What there is at one moment: every study, or what is wrong."""

    stamp: str
    studies: tuple[dict[str, Any], ...] = ()
    problem: str | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing will change by itself."""
        return self.problem is None and all(study["finished"] for study in self.studies)


class Served:
    """The page about some studies and what they are doing; both made only when somebody asks."""

    def __init__(self, folders: Sequence[Path], *, goal: float | None = None) -> None:
        self._folders, self._goal = folders, goal
        self._lookings = [Looking(folder) for folder in folders]
        self._looking, self._making = threading.Lock(), threading.Lock()
        self._page, self._stamp = b"", ""
        self._made, self._took = 0.0, 0.0

    def look(self) -> Look:
        """What there is now."""
        with self._looking:
            try:
                seen = [looking.look() for looking in self._lookings]
                for one in seen:
                    if isinstance(one, Sight):
                        chosen(one.document, "goals", "--goal", self._goal)
            except (ParsityError, OSError) as error:
                return _trouble(str(error))
        absent = [one.why for one in seen if isinstance(one, Absence)]
        if absent:
            return _trouble("; ".join(absent))
        there = [one for one in seen if isinstance(one, Sight)]
        return Look(_short(*(one.stamp for one in there)), tuple(one.document for one in there))

    def state(self) -> dict[str, Any]:
        """What the page asks now and then: the stamp of the page that can be had, and all that changes meanwhile."""
        seen = self.look()
        return {
            "state": seen.stamp if self._is_time(seen) else self._stamp,
            "driver": any(study["driver"] is not None for study in seen.studies),
            "problem": seen.problem,
            "studies": seen.studies,
        }

    def page(self) -> tuple[HTTPStatus, bytes]:
        """The page, made anew only if a study has changed since and the page has stood for long enough."""
        from parsity import __version__
        from parsity.report.page import problem_page

        with self._making:
            seen = self.look()
            if seen.problem is None and self._is_time(seen):
                try:
                    self._make(seen.stamp)
                except ParsityError as error:
                    seen = _trouble(str(error))
            if seen.problem is not None:
                text = problem_page(seen.problem, version=__version__, state=seen.stamp)
                return HTTPStatus.SERVICE_UNAVAILABLE, text.encode()
            return HTTPStatus.OK, self._page

    def _is_time(self, seen: Look) -> bool:
        if seen.problem is not None or not self._page:
            return True
        stands = time.monotonic() - self._made
        return seen.stamp != self._stamp and (seen.finished or stands >= REST * max(1.0, self._took))

    def _make(self, stamp: str) -> None:
        words = ["parsity", "report", *map(str, self._folders)]
        if self._goal is not None:
            words += ["--goal", f"{self._goal:g}"]
        started = time.monotonic()
        text = make_page(self._folders, goal=self._goal, command=shlex.join(words), state=stamp)
        self._page, self._stamp, self._made = text.encode(), stamp, time.monotonic()
        self._took = self._made - started


class Server(ThreadingHTTPServer):
    """Listens on this machine alone."""

    daemon_threads = True

    def __init__(self, served: Served, port: int) -> None:
        self.served = served
        super().__init__((HOST, port), _Handler)
        self.port = int(self.server_address[1])
        names = HOST, "localhost"
        self.names = {f"{name}:{self.port}" for name in names} | (set(names) if self.port == 80 else set())

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody who goes before the answer is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            logger.exception("a request failed")


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE

    def do_GET(self) -> None:  # the name that http.server calls
        path = self.path.partition("?")[0]
        if self.headers.get_all("Host", []) not in [[name] for name in self._server.names]:
            self._answer(HTTPStatus.FORBIDDEN, f"this page is at {self._server.address}")
        elif path == "/":
            status, page = self._server.served.page()
            self._answer(status, page, "text/html")
        elif path == "/state.json":
            self._answer(HTTPStatus.OK, as_json(self._server.served.state()), "application/json")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "there is nothing here")

    do_HEAD = do_GET  # noqa: N815

    def __getattr__(self, name: str) -> Any:
        """Every other method there is, and those that there are not."""
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    @property
    def _server(self) -> Server:
        return cast(Server, self.server)

    def _refuse(self) -> None:
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are allowed", Allow="GET, HEAD")

    def _answer(self, status: HTTPStatus, body: str | bytes, kind: str = "text/plain", **more: str) -> None:
        contents = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {**HEADERS, **more}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(contents)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(contents)

    def version_string(self) -> str:
        """Nobody needs to know more."""
        return "parsity"

    def log_message(self, format: str, *words: Any) -> None:  # noqa: A002  # as the base class has it
        logger.debug(format, *words)


def _trouble(problem: str) -> Look:
    return Look(_short("problem", problem), problem=problem)


def _short(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
