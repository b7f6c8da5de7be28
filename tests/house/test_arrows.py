"""The house keeps its arrows: which part may import which, what starts without torch, and one way to start."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import parsity

SOURCE = Path(parsity.__file__).parent
# Each part, and those it may import besides itself and `COMMON`, which anyone may.
ARROWS = {
    "data": set(),
    "models": set(),
    "metaparameters": set(),
    "optimisation": set(),
    "pruning": set(),
    "results": set(),
    "storage": set(),
    "engines": {"data", "optimisation", "results", "storage"},
    "training": {"data", "models", "metaparameters", "optimisation", "pruning", "results", "engines"},
    "racing": {"data", "engines", "optimisation", "pruning", "results", "training"},
    "parallel": {"data", "engines", "optimisation", "pruning", "racing", "results", "training"},
    "study": {
        "data",
        "engines",
        "metaparameters",
        "optimisation",
        "parallel",
        "racing",
        "results",
        "storage",
        "training",
    },
    "smoothness": {
        "data",
        "engines",
        "optimisation",
        "pruning",
        "racing",
        "results",
        "storage",
        "training",
    },
    "theory": set(),
    "quadratic": {"data", "theory"},
    "analysis": {"metaparameters", "results", "theory"},
    "planning": {"analysis", "results"},
    "report": {"analysis", "metaparameters", "planning", "results"},
    "cli": {
        "analysis",
        "data",
        "metaparameters",
        "models",
        "parallel",
        "planning",
        "pruning",
        "report",
        "results",
        "smoothness",
        "training",
        "racing",
        "study",
    },
}
COMMON = {"errors", "extensions", "spawning", "whole_file"}
WITHOUT_TORCH = [
    "parsity",
    "parsity.cli",
    "parsity.results",
    "parsity.metaparameters",
    "parsity.analysis",
    "parsity.planning",
    "parsity.theory",
    "parsity.report.figures",
    "parsity.report.page",
    "parsity.errors",
]


def imported_parts(path: Path) -> set[str]:
    """The parts of Parsity that a file imports, wherever in the file it does so."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide arrows"
            names.append(node.module or "")
    return {name.split(".")[1] for name in names if name.startswith("parsity.")}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_every_part_is_on_the_map():
    parts = {path.relative_to(SOURCE).parts[0] for path in modules() if path.parent != SOURCE}
    assert parts == set(ARROWS)


@pytest.mark.parametrize("part", ARROWS)
def test_arrows_point_one_way(part):
    for path in (SOURCE / part).rglob("*.py"):
        strays = imported_parts(path) - ARROWS[part] - COMMON - {part}
        assert not strays, f"{path.relative_to(SOURCE)} imports {strays}"


def test_the_parts_of_the_library_import_each_others_public_names_only():
    """The command line may reach deeper, for what it alone needs, such as drawing."""
    for path in modules():
        own = path.relative_to(SOURCE).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if own != "cli" and isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parsity."):
                _, part, *inner = (node.module or "").split(".")
                assert not inner or part == own, f"{path.relative_to(SOURCE)} reaches into {node.module}"


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_no_torch_where_none_is_needed(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["data", "--help"], ["prune", "--help"]])
def test_help_imports_no_torch(words):
    code = f"""
import sys
from parsity.cli import main
try:
    main({words!r})
finally:
    assert "torch" not in sys.modules and "numpy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "parsity" in done.stdout


def test_python_m_parsity_is_parsity():
    done = subprocess.run([sys.executable, "-m", "parsity", "--help"], check=True, capture_output=True, text=True)
    script = Path(sys.executable).with_name("parsity")
    assert done.stdout.startswith("usage: parsity ")
    if script.exists():
        assert subprocess.run([script, "--help"], check=True, capture_output=True, text=True).stdout == done.stdout


def test_modules_stay_small():
    large = {str(path.relative_to(SOURCE)): n for path in modules() if (n := len(path.read_text().splitlines())) > 300}
    assert not large
