"""``parsity compare``: two studies beside each other, cell by cell."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.cli.studies import open_study, still_due

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from parsity.study import Overview, TableRow
    from parsity.study.store import ComparedRow, Comparison

    Key = tuple[int, float, float]

SHORT = 12  # letters of a digest


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity compare``."""
    parser.add_argument("a", type=Path, metavar="A", help="the folder of a study")
    parser.add_argument("b", type=Path, metavar="B", help="the folder of another")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compare their answers, their digests and their specs."""
    from parsity.cli.tables import print_json
    from parsity.study.store import compare

    first, second = open_study(arguments.a), open_study(arguments.b)
    with first.store() as a, second.store() as b, a.at_one_moment(), b.at_one_moment():
        found = compare(a, b)
        states = a.overview(), b.overview()
    if arguments.json:
        print_json(
            {
                "a": {"folder": str(arguments.a), "digest": found.digest_a},
                "b": {"folder": str(arguments.b), "digest": found.digest_b},
                "same": found.same,
                "spec": {key: {"a": a, "b": b} for key, (a, b) in found.spec.items()},
                "cells": [{**asdict(row), "ratio": row.ratio, "same": row.same} for row in found.rows],
            }
        )
        return 0
    _print(arguments.a, arguments.b, found, *states)
    return 0


def _print(a: Path, b: Path, found: Comparison, of_a: Overview, of_b: Overview) -> None:
    from parsity.cli.tables import counted, print_table, print_title

    heads = [
        (letter, str(folder), str(seen.spec.get("name", "")), f"digest {seen.digest[:SHORT]}")
        for letter, folder, seen in (("A", a, of_a), ("B", b, of_b))
    ]
    print_table(("", "", "", ""), heads)
    sys.stdout.write("\n")
    print_title("steps to result")
    in_a, in_b = _unfinished(of_a), _unfinished(of_b)
    both = in_a.keys() & in_b.keys()
    common = [row for row in found.rows if _key(row) in both]
    # Of a small study beside a large one, the cells that only one has would bury those that can be compared.
    _print_cells(common or found.rows, in_a, in_b)
    for letter, cells in (("A", in_a), ("B", in_b)) if common else ():
        if alone := len(cells.keys() - both):
            sys.stderr.write(f"only in {letter}: {counted(alone, 'answer')}; --json has them\n")
    if found.spec:
        sys.stdout.write("\n")
        print_title("specs")
        print_table(("key", "in A", "in B"), [(key, *map(_value, pair)) for key, pair in found.spec.items()])
    if found.same:
        sys.stderr.write("the digests are equal: A and B measured the same, trial by trial\n")
        return
    alike = f"{sum(row.same for row in common)} of {counted(len(common), 'common answer')}"
    sys.stderr.write(f"the digests differ; {alike} {'is' if len(common) == 1 else 'are'} the same\n")


def _print_cells(rows: Sequence[ComparedRow], of_a: Mapping[Key, bool], of_b: Mapping[Key, bool]) -> None:
    from parsity.cli.tables import hanging, print_table, short

    def steps(row: ComparedRow, found: int | None, unfinished: Mapping[Key, bool]) -> str:
        if _key(row) not in unfinished:
            return ""
        return (f"{found:,}" if found else "-") + ("?" if unfinished[_key(row)] else "")

    columns = {
        "batch size": [f"{row.batch_size:,}" for row in rows],
        "sparsity": [short(row.sparsity) for row in rows],
        "goal": [short(row.goal) for row in rows],
        "A": hanging(["A", *(steps(row, row.steps_a, of_a) for row in rows)]),
        "B": hanging(["B", *(steps(row, row.steps_b, of_b) for row in rows)]),
        "B / A": ["" if row.ratio is None else f"{row.ratio:.2f}" for row in rows],
        "same": [_verdict(row, of_a, of_b) for row in rows],
    }
    headings = [columns[name].pop(0) if name in "AB" else name for name in columns]
    print_table(headings, zip(*columns.values(), strict=True), numbers=headings[:-1])
    if any("?" in text for text in (*columns["A"], *columns["B"])):
        sys.stderr.write("? trials of this cell are still due, and may need fewer steps\n")


def _verdict(row: ComparedRow, of_a: Mapping[Key, bool], of_b: Mapping[Key, bool]) -> str:
    missing = [letter for letter, cells in (("A", of_a), ("B", of_b)) if _key(row) not in cells]
    if missing:
        return f"not in {missing[0]}"
    if row.same:
        return "yes"
    return "another trial" if row.ratio == 1 else "no"


def _key(row: ComparedRow | TableRow) -> Key:
    return row.batch_size, row.sparsity, row.goal


def _unfinished(seen: Overview) -> dict[Key, bool]:
    """By cell and goal of the grid, whether trials are still due."""
    due = still_due(seen)
    return {_key(row): bool(due[row.batch_size, row.sparsity]) for row in seen.table}


def _value(value: Any) -> str:
    from parsity.cli.tables import short

    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return short(value) if isinstance(value, float) else str(value)
