"""Debian's Chromium, driven over its own debugging protocol through two pipes: nothing to install, no port to open."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
]
PATIENCE = 60.0  # seconds for one answer, on a machine that is busy


class Chromium:
    """One page of a browser of its own, with all that it said and asked for."""

    def __init__(self) -> None:
        assert PROGRAM is not None
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._number, self._rest = 0, b""
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [PROGRAM, *FLAGS, f"--user-data-dir={self._folder.name}", "--remote-debugging-pipe", "about:blank"]
        # The browser reads its orders from descriptor 3 and answers on 4.
        shell = 'exec "$@" 3<&"$PARSITY_IN" 4>&"$PARSITY_OUT"'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "chromium", *command],
            env={**os.environ, "PARSITY_IN": str(theirs_in), "PARSITY_OUT": str(theirs_out), "HOME": self._folder.name},
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session: str | None = None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        self.size(1280, 900)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._out)  # its orders have ended: it goes
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._folder.cleanup()

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give one order, and return its answer."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            order["sessionId"] = self._session
        os.write(self._out, json.dumps(order).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                answer: dict[str, Any] = said["result"]
                return answer
            self._note(said)

    def open(self, address: str) -> None:
        """Go to ``address``, and wait until the page has drawn all its charts."""
        self.problems.clear()
        self.requests.clear()
        self("Page.navigate", url=address)
        self.until("document.documentElement?.dataset.ready === 'yes'")

    def js(self, expression: str) -> Any:
        """The value of ``expression`` on the page."""
        found = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until ``expression`` is true."""
        end = time.monotonic() + PATIENCE
        while not self.js(expression):
            assert time.monotonic() < end, f"never came true: {expression}; {self.problems}"
            time.sleep(0.02)

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """The window's size."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def media(self, kind: str = "", *, dark: bool = False) -> None:
        """How the page is shown: ``print`` or on a screen, and what the system's theme is."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self("Emulation.setEmulatedMedia", media=kind, features=features)

    def point(self, x: float, y: float) -> None:
        """Move the mouse there."""
        self("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a hand would."""
        x, y = self.middle(selector)
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def middle(self, selector: str) -> tuple[float, float]:
        """Where an element is, once it has been scrolled to."""
        found = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({ block: 'center', behavior: 'instant' }); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return found[0], found[1]

    def press(self, key: str) -> None:
        """Press a key on whatever has the focus."""
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        name = " " if key == "Space" else key
        self("Input.dispatchKeyEvent", type="keyDown", key=name, code=key, text=text)
        self("Input.dispatchKeyEvent", type="keyUp", key=name, code=key)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, to a PNG file."""
        answer = self("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        found = self(
            "Page.printToPDF", preferCSSPageSize=True, printBackground=False, paperWidth=8.27, paperHeight=11.69
        )
        return base64.b64decode(found["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            more = os.read(self._in, 1 << 20)
            assert more, "the browser has gone"
            self._rest += more
        said, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(said)
        return found

    def _note(self, said: dict[str, Any]) -> None:
        method, what = said.get("method", ""), said.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(what["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.problems.append(str(what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.problems.append(str(what["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
