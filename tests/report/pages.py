"""Reports of made-up studies, and a way to read them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
from made_up import GOAL, SPACE, curve_cells, lognormal

from parsity.analysis import Analysis, MeasuredStudy, analyse
from parsity.report.page import CellProgress, ReportedStudy, page
from parsity.results import CellResult

BATCHES = tuple(2**power for power in range(1, 12))
Truth = tuple[float, float]  # c1 and c2


def cells(
    truths: dict[float, Truth], *, trials: int = 20, spread: float = 0.3, seed: int = 1, **known: Any
) -> list[CellResult]:
    """A curve for each sparsity, of these truths."""
    rng, found = np.random.default_rng(seed), []
    batches = known.pop("batch_sizes", BATCHES)
    luck = lognormal(rng, trials, len(batches), spread=spread)
    for sparsity, (c1, c2) in truths.items():
        found += curve_cells(
            lambda batch, c1=c1, c2=c2: c1 / batch + c2, luck, sparsity=sparsity, batch_sizes=batches, **known
        )
    return found


def reported(found: list[CellResult], *, name: str = "made up", due: int = 0, **known: Any) -> ReportedStudy:
    """A study of these cells, of which the last has ``due`` trials to go."""
    keys = [(cell.batch_size, cell.sparsity, len(cell.trials)) for cell in found] or [(2, 0.0, 0)]
    progress = [
        CellProgress(batch_size=b, sparsity=s, planned=n + due * (place == 0), due=due * (place == 0), set_aside=0)
        for place, (b, s, n) in enumerate(keys)
    ]
    known = {"driver": None, **known}
    return ReportedStudy(
        measured=MeasuredStudy(name=name, cells=tuple(found), space=SPACE, data="mnist", network="simple-cnn"),
        goals=(GOAL,),
        patience=math.inf,
        progress=tuple(progress),
        **known,
    )


def told(*studies: ReportedStudy) -> tuple[str, Analysis]:
    """The page about these studies, and the analysis it is of."""
    analysis = analyse([study.measured for study in studies], draws=200)
    text = page(studies, analysis, command="parsity report x", written="today", version="0")
    return text, analysis


def named(study: ReportedStudy, name: str) -> ReportedStudy:
    """The same under another name."""
    return replace(study, measured=replace(study.measured, name=name))


def data(text: str) -> dict[str, Any]:
    """What the charts are drawn from, read as strictly as JSON is meant."""
    found = re.search(r'<script type="application/json" id="parsity-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    document: dict[str, Any] = json.loads(found[1], parse_constant=refuse)
    return document


class Reader(HTMLParser):
    """The words of a page by class, and its tables by caption."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self._open: list[tuple[str, list[str]]] = []
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("input", "meta", "link", "br"):
            return
        self._open.append((tag, (dict(attributes).get("class") or "").split()))
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        elif tag == "table":
            self._rows, self._caption = [], ""

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag == "table":
            self.tables[self._caption] = [[" ".join(cell.split()) for cell in row] for row in self._rows]

    def handle_data(self, text: str) -> None:
        inside = {tag for tag, _ in self._open}
        for _, classes in self._open:
            for one in classes:
                self.words[one] = self.words.get(one, "") + text
        if "caption" in inside:
            self._caption += text
        elif inside & {"td", "th"}:
            self._rows[-1][-1] += text
