"""The folder's own helpers can be imported by its tests, and by the processes these start."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@dataclass
class Ending:
    """What one of the adder's children said, and how it ended."""

    code: int = 0
    added: list[tuple[int, float, int]] = field(default_factory=list)
    refused: str | None = None
    digest: str | None = None


class Adder:
    """The process of `adder.py`."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, Path(__file__).with_name("adder.py")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(10) == 0
        assert self._process.stdout
        self._process.stdout.close()

    def __call__(self, *, kill_after: tuple[int, float] | None = None, **order: Any) -> Ending:
        """Give an order; kill -9 the child so many additions, and then seconds, later."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({key: str(v) if isinstance(v, Path) else v for key, v in order.items()}))
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        ending, pid, killed = Ending(), None, False
        while True:
            # The child may speak before its parent names it.
            if pid and kill_after and len(ending.added) >= kill_after[0] and not killed:
                time.sleep(kill_after[1])
                with suppress(ProcessLookupError):  # it was faster
                    os.kill(pid, signal.SIGKILL)
                killed = True
            kind, *words = self._process.stdout.readline().split()
            if kind == "pid":
                pid = int(words[0])
            elif kind == "added":
                ending.added += [(int(words[0]), float(words[1]), int(number)) for number in words[2:]]
            elif kind == "refused":
                ending.refused = " ".join(words)
            elif kind == "digest":
                ending.digest = words[0]
            else:
                ending.code = int(words[0])
                return ending


@pytest.fixture(scope="module")
def adder():
    process = Adder()
    yield process
    process.close()


@pytest.fixture
def rng() -> random.Random:
    return random.Random(20210504)
