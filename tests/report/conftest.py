"""The demo study at a small size, its report, and a browser to open it in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsity.cli import main

# The browser is a module beside this one; studies of known truth are those of the analysis' tests.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "analysis")]

from chromium import PROGRAM, Chromium  # noqa: E402

SMALL = ("trials=4", "batch_sizes=[32, 128, 512]", "sparsities=[0, 0.5]", "patience=4")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of the embedded digits, measured in a few seconds."""
    folder = tmp_path_factory.mktemp("demo") / "digits"
    changes = [word for change in SMALL for word in ("--set", change)]
    assert main(["run", "digits", "--folder", str(folder), "--executor", "serial", *changes]) == 0
    return folder


@pytest.fixture(scope="session")
def demo_page(demo: Path) -> Path:
    """Its report."""
    path = demo.parent / "report.html"
    assert main(["report", str(demo), "--output", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def _browser() -> Iterator[Chromium]:
    if PROGRAM is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with Chromium() as browser:
        yield browser


@pytest.fixture
def browser(_browser: Chromium) -> Chromium:
    """A window of a desk's size, by day."""
    _browser.size(1280, 900)
    _browser.media()
    return _browser
