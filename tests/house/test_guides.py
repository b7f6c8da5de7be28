"""What the README and the first-hour guides tell people to type can be typed, and what they link to is there."""

import re
import shlex
from argparse import Namespace
from pathlib import Path

import pytest

from parsity.cli import VERBS, _parse
from parsity.study import PRESETS, StudySpec, apply_overrides, read_spec
from parsity.study.presets import preset_document

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "docs" / "first-hour" / f"{who}.md" for who in ("researcher", "engineer", "teacher")]
PAGES = [ROOT / "README.md", *GUIDES]
EVERY_PAGE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = {preset.name for preset in PRESETS}
LAID_OUT = {"mine": ROOT / "examples" / "own_model"}  # folders that a guide copies, and from where


def lines_of(page: Path) -> list[str]:
    """Every line of a page that is to be typed: none in blocks of a language, nor of ``text``, which is output."""
    lines, language = [], None
    for line in page.read_text().replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            language = line.removeprefix("```") if language is None else None
        elif language == "" and re.match(r"(parsity|make|cd|cp|\.) ", line):
            lines.append(line.partition(" #")[0].rstrip())
    return lines


def words_of(line: str) -> list[str]:
    """The words of a command, without what the shell takes for itself."""
    words = shlex.split(line, comments=True)
    ends = [place for place, word in enumerate(words) if word in (">", "&", "|")]
    return words[: min(ends, default=len(words))]


def commands_of(page: Path) -> list[Namespace]:
    """The page's parsity commands, as the command line itself reads them."""
    return [_parse(words_of(line)[1:]) for line in lines_of(page) if line.startswith("parsity ")]


def made(command: Namespace) -> list[str]:
    """The study folders that a command leaves behind; what it would measure must be a study."""
    if command.verb == "import":
        return [str(command.to)]
    if command.verb != "run":
        return []
    spec = spec_of(command)
    return [] if command.dry_run else [str(command.folder or spec.name)]


def spec_of(command: Namespace) -> StudySpec:
    """What ``parsity run`` would measure: a preset, or the example's study file, with everything it sets."""
    if command.study.endswith(".toml"):
        return read_spec(LAID_OUT["mine"] / command.study, command.set)
    document = preset_document(command.study, command.scale)
    return StudySpec.from_document(apply_overrides(document, command.set), command.study)


def test_there_is_a_guide_for_each_of_the_three():
    readme = (ROOT / "README.md").read_text()
    assert all(f"docs/first-hour/{page.name}" in readme for page in GUIDES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_one(page, capsys):
    # argparse ends the process where a flag or a value is wrong; that it does not is the test.
    assert commands_of(page), capsys.readouterr().err


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_studies_are_made_before_they_are_read(page):
    there = {"demo/digits"}  # by `make demo`, which comes first
    assert "make demo" in lines_of(page)
    for command in commands_of(page):
        asked = vars(command)
        if command.verb == "run" and command.study in there and not command.folder:
            continue  # it is extended
        if command.verb == "new":
            assert command.schema or command.preset.partition("/")[0] in NAMES
        if command.verb in ("smoothness", "train", "scale", "prune"):
            assert asked["workload"] in NAMES | there or (LAID_OUT["mine"] / asked["workload"]).is_file()
        read = [*asked.get("folders", []), *(asked[key] for key in ("folder", "a", "b") if asked.get(key))]
        if command.verb not in ("run", "smoothness", "watch", "serve"):  # those two wait for a study to come
            assert {str(folder) for folder in read} <= there, f"{command.verb} reads what no line before has made"
        there.update(made(command))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_flags_in_the_text_exist(page, capsys):
    for span in re.findall(r"`parsity ([^`\n]+)`", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)):
        verb, *rest = span.split()
        assert verb in VERBS
        with pytest.raises(SystemExit):
            _parse([verb, *rest[:1], "--help"] if verb == "data" else [verb, "--help"])
        known = capsys.readouterr().out
        assert all(flag in known for flag in re.findall(r"--[a-z-]+", span)), span


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_knows_every_target(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    assert {line.split()[1] for line in lines_of(page) if line.startswith("make ")} <= targets


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
