"""What a result came from: code, libraries, machine, command. Gathered without importing any of the libraries."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import parsity

LIBRARIES = ("numpy", "scipy", "torch")


def gather_provenance(
    *, data_digest: str | None = None, threads: int | None = None, command: list[str] | None = None
) -> dict[str, Any]:
    """Plain data for `Store.begin_run`: the code's state, versions, the machine, the command line, the time."""
    return {
        "parsity": parsity.__version__,
        "code": _code(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "system": platform.platform(),
        "cpu": processor(),
        "cores": _cores(),
        "threads": threads,
        "data_digest": data_digest,
        # Where the program lies on a machine is nobody else's concern.
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]] if command is None else command,
        "host": platform.node(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _code() -> dict[str, Any] | None:
    """The commit this package is at, and whether it was changed since; None outside a repository of its own."""
    package = Path(parsity.__file__).parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", package, *words], capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may lie inside somebody else's repository, which says nothing about this code.
    if not git("ls-files", "__init__.py"):
        return None
    changed = git("status", "--porcelain", "--", ".")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if changed is None else bool(changed)}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """What this machine computes with, in its maker's words."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _cores() -> int | None:
    # The cores this process may use, where the system tells; a container often has fewer than the machine.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
