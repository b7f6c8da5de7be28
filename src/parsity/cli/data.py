"""``parsity data``: list, fetch, check and show the data sets."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.cli.tables import print_json, print_table, print_title
from parsity.data import CATALOGUE, Entry, locate
from parsity.errors import DamagedError, ParsityError, UsageError
from parsity.extensions import unknown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity data``."""
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    def verb(name: str, does: object, summary: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        one.set_defaults(does=does)
        one.add_argument(
            "--data-dir", type=Path, metavar="DIR", help="a folder that has the files (also: PARSITY_DATA_DIR)"
        )
        return one

    listing = verb("list", _list, "name the data sets and say where each one is")
    listing.add_argument("--json", action="store_true", help="as JSON")
    fetching = verb("fetch", _fetch, "bring data sets into the cache and check every digest")
    fetching.add_argument("names", nargs="+", metavar="NAME", help=f"one of {', '.join(CATALOGUE)}")
    checking = verb("check", _check, "recompute the digests of what is here; fetch nothing")
    checking.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: all that are here)")
    checking.add_argument("--json", action="store_true", help="as JSON")
    showing = verb("show", _show, "draw a contact sheet, one row per class")
    showing.add_argument("name", metavar="NAME", help="a data set, or an import path package.module:function")
    showing.add_argument("--to", type=Path, metavar="FILE.png", help="where to (default: NAME.png here)")
    showing.add_argument("--count", type=int, default=16, metavar="N", help="pictures per class (default: 16)")


def run(arguments: argparse.Namespace) -> int:
    """Do what one of the verbs says."""
    code: int = arguments.does(arguments)
    return code


def _list(arguments: argparse.Namespace) -> int:
    rows = [_described(entry, arguments.data_dir) for entry in CATALOGUE.values()]
    if arguments.json:
        print_json(rows)
        return 0
    columns: dict[str, list[str]] = {
        "name": [row["name"] for row in rows],
        "images": [f"{row['images']:,}" for row in rows],
        "test": [f"{row['test_images']:,}" for row in rows],
        "shape": [" x ".join(map(str, row["shape"])) for row in rows],
        "classes": [str(len(row["classes"])) for row in rows],
        "where": [row["where"] if row["path"] is None else f"{row['where']}: {_short(row['path'])}" for row in rows],
    }
    sources = [f"{row['source']}; {row['licence']}" for row in rows]
    terminal = sys.stdout.isatty()
    if not terminal:  # on one, they would not fit beside the rest
        columns["source"] = sources
    print_table(list(columns), zip(*columns.values(), strict=True), numbers=("images", "test", "classes"))
    if terminal:
        sys.stdout.write("\n")
        print_title("sources")
        print_table(("", ""), zip(columns["name"], sources, strict=True))
    return 0


def _described(entry: Entry, folder: Path | None) -> dict[str, Any]:
    try:
        place = locate(entry, None if entry.embedded else folder)
    except UsageError:  # the named folder lacks this one; listing says so and goes on
        place = None
    where: str = "not fetched" if place is None else place.kind
    if place is not None and place.missing(entry):
        where += " (in part)"
    return {
        "name": entry.name,
        "title": entry.title,
        "images": entry.images,
        "test_images": entry.test_images,
        "shape": list(entry.shape),
        "classes": list(entry.classes),
        "where": where,
        "path": None if place is None or place.kind == "embedded" else place.at,
        "bytes": sum(file.size for file in entry.files),
        "source": entry.source,
        "licence": entry.licence,
    }


def _short(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(home + "/") else path


def _fetch(arguments: argparse.Namespace) -> int:
    from parsity.cli.transfers import Transfers
    from parsity.data import fetch

    entries = _entries(arguments.names)
    worst = 0
    for entry in entries:
        try:
            with Transfers(entry.name) as transfers:
                folder = None if entry.embedded else arguments.data_dir
                place = fetch(entry, folder=folder, progress=transfers)
        except ParsityError as error:
            # One data set out of reach is no reason to leave the others.
            _say(f"parsity: {error}")
            worst = max(worst, error.exit_code)
        else:
            sys.stdout.write(f"{entry.name}\t{place.at}\n")
    return worst


def _check(arguments: argparse.Namespace) -> int:
    from parsity.data import check

    findings, nowhere = [], []
    for entry in _entries(arguments.names or CATALOGUE):
        found = check(entry, folder=None if entry.embedded else arguments.data_dir)
        findings += found
        if not found and arguments.names:
            nowhere.append(entry.name)
    if arguments.json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            sys.stdout.write(f"{finding.state:8}{finding.data}/{finding.file}\n")
    for finding in findings:
        if finding.remark is not None:
            _say(f"parsity: {finding.remark}")
    for name in nowhere:
        _say(f"parsity: data set {name}: not fetched; `parsity data fetch {name}` brings it")
    if any(finding.remark for finding in findings):
        return DamagedError.exit_code
    return ParsityError.exit_code if nowhere else 0


def _show(arguments: argparse.Namespace) -> int:
    from parsity.data import contact_sheet, load

    to = arguments.to or Path(re.sub(r"[^\w.-]+", "-", arguments.name) + ".png")
    if to.suffix.lower() != ".png":
        raise UsageError(f"--to: {to} must end in .png")
    data = load(arguments.name, folder=arguments.data_dir)
    title = CATALOGUE[data.name].title if arguments.name in CATALOGUE else None
    sheet = contact_sheet(data, count=arguments.count, title=title)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(sheet)
    except OSError as error:
        raise ParsityError(f"--to: cannot write {to} ({error.strerror})") from error
    sys.stdout.write(f"{to}\n")
    return 0


def _entries(names: Iterable[str]) -> list[Entry]:
    for name in names:
        if name not in CATALOGUE:
            raise UsageError(unknown("data", name, CATALOGUE, paths=False))
    return [CATALOGUE[name] for name in dict.fromkeys(names)]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
