from __future__ import annotations

import importlib
import importlib.metadata
import sys
from typing import TYPE_CHECKING

import pytest

from parsity.errors import UsageError
from parsity.extensions import resolve

if TYPE_CHECKING:
    from pathlib import Path

BUILT_IN = {"square-root": "math:sqrt", "floor": "math:floor"}


def test_built_in_names_and_import_paths_are_found():
    import math
    import os.path

    assert resolve("criteria", "square-root", BUILT_IN) is math.sqrt
    assert resolve("criteria", "math:cos", BUILT_IN) is math.cos
    assert resolve("criteria", "os:path.join", {}) is os.path.join


def test_a_module_in_the_current_folder_is_found_behind_everything_installed(tmp_path: Path, monkeypatch):
    (tmp_path / "their_own_nets.py").write_text("def make():\n    return 7\n")
    (tmp_path / "colorsys.py").write_text("raise AssertionError('shadows the standard library')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != ""])
    make = resolve("networks", "their_own_nets:make", {})
    assert callable(make)
    assert make() == 7
    assert sys.path[-1] == str(tmp_path)
    resolve("networks", "colorsys:rgb_to_hsv", {})
    del sys.modules["their_own_nets"]


def test_an_entry_point_is_found_and_named_in_errors(tmp_path: Path, monkeypatch):
    distribution = tmp_path / "theirs-1.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (distribution / "entry_points.txt").write_text("[parsity.networks]\ntheir-net = math:cos\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert resolve("networks", "their-net", BUILT_IN) is importlib.import_module("math").cos
    with pytest.raises(UsageError, match="their-net"):
        resolve("networks", "nothing-like-it", BUILT_IN)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "square-rot",
            r"criteria: 'square-rot' is not known \(did you mean square-root\?\); allowed are ",
        ),
        ("math:sqrrt", r"criteria: module math has no 'sqrrt'; did you mean sqrt\?"),
        (
            "no_such_module:f",
            r"criteria: 'no_such_module:f' cannot be imported: No module",
        ),
        ("math:", "is not an import path"),
        (":f", "is not an import path"),
        ("a b:c", "is not an import path"),
    ],
)
def test_errors_say_what_and_what_is_allowed(name: str, line: str):
    with pytest.raises(UsageError, match=line) as raised:
        resolve("criteria", name, BUILT_IN)
    assert "\n" not in str(raised.value)
