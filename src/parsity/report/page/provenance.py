"""How far a study is, and where its numbers come from."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any

from parsity.report.page.markup import Content, Html, join, tag
from parsity.report.page.numbers import called, counted, duration, listed
from parsity.report.page.reported import ReportedStudy
from parsity.report.page.tables import table


def notices(study: ReportedStudy) -> Html | None:
    """What has to be known before reading on: that it is not finished, that trials were set aside."""
    found = []
    if study.unfinished:
        done = len(study.progress) - study.unfinished
        due = sum(cell.due for cell in study.progress)
        who = "still running" if study.driver is not None else "not finished, and nobody is at work on it"
        text = f"{done} of {counted(len(study.progress), 'cell')} are finished, {counted(due, 'trial')} are still due."
        found.append(_notice("This study is ", who, f": {text} Every number may still change."))
    if study.set_asides:
        trials = sum(cell.set_aside for cell in study.progress)
        which = [
            f"{called(one.sparsity)} at batch {one.batch_size:,}: {one.numbers} ({one.reason}, tried "
            f"{counted(one.attempts, 'time')})"
            for one in study.set_asides
        ]
        items = tag("details", tag("summary", "Which"), tag("ul", [tag("li", one) for one in which]))
        found.append(
            _notice("", counted(trials, "trial was", "trials were") + " set aside", " and not measured.", items)
        )
    return tag("div", found, class_="notices") if found else None


def _notice(before: str, strong: str, after: str, more: Html | None = None) -> Html:
    return tag("div", tag("p", before, tag("strong", strong), after), more, class_="notice")


def provenance(study: ReportedStudy) -> Html:
    """Spec, versions, machines, runs, digests and costs."""
    facts = tag("dl", [_fact(name, value) for name, value in _facts(study)], class_="facts")
    spec = tag(
        "details",
        tag("summary", "The study file"),
        tag(
            "div",
            tag("pre", tag("code", study.spec), tabindex="0"),
            tag("button", "Copy", type="button", class_="copy", data_copy="pre", aria_label="Copy the study file"),
            class_="copied",
        ),
    )
    return tag("div", facts, _runs(study.runs) if study.runs else None, spec if study.spec else None)


def _facts(study: ReportedStudy) -> Iterator[tuple[str, Content]]:
    measured = study.measured
    parts = [part for part in (measured.network, measured.data, measured.optimiser, measured.schedule) if part]
    if parts:
        yield "workload", ", ".join(parts)
    trials = sum(len(cell.trials) for cell in measured.cells)
    yield "measured", f"{counted(trials, 'trial')} in {counted(len(measured.cells), 'cell')}"
    yield "patience", f"{study.patience:g}"
    yield "spent", f"{counted(study.image_passes, 'image pass', 'image passes')}, {duration(study.seconds)} of one core"
    if study.digest:
        yield "digest of the results", tag("code", study.digest)
    if study.identity:
        yield "identity of the study", tag("code", study.identity)
    for name, key in (("processor", "cpu"), ("system", "system"), ("Python", "python"), ("Parsity", "parsity")):
        values = list(dict.fromkeys(str(run[key]) for run in study.runs if run.get(key)))
        if values:
            yield name, listed(values)
    libraries = list(dict.fromkeys(_libraries(run.get("libraries")) for run in study.runs))
    if any(libraries):
        yield "libraries", listed([one for one in libraries if one])
    code = list(dict.fromkeys(_code(run.get("code")) for run in study.runs))
    if any(code):
        yield "code", listed([one for one in code if one])


def _libraries(found: Any) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items() if version) if found else ""


def _code(found: Any) -> str:
    if not found or not found.get("commit"):
        return ""
    return f"commit {found['commit'][:12]}" + (", with changes" if found.get("dirty") else "")


def _fact(name: str, value: Content) -> Html:
    return tag("div", tag("dt", name), tag("dd", value))


def _runs(runs: Sequence[Mapping[str, Any]]) -> Html:
    rows = [
        [
            str(run.get("run", number)),
            _moment(run.get("started")),
            _moment(run.get("ended")),
            str(run.get("how") or "no end noted"),
            str(run.get("cores") or ""),
            join(tag("code", command_line(run.get("command") or []))),
        ]
        for number, run in enumerate(runs, 1)
    ]
    headings = ["run", "started", "ended", "how", "cores", "command"]
    return table("Runs", headings, rows, texts=("started", "ended", "how", "command"))


def command_line(words: Sequence[str]) -> str:
    """A command as it would be typed: the program by its name, not by where it happens to lie."""
    if not words:
        return ""
    name = PurePath(words[0]).name
    return shlex.join(["parsity" if name == "__main__.py" else name, *map(str, words[1:])])


def _moment(text: Any) -> str:
    try:
        return datetime.fromisoformat(str(text)).strftime("%Y-%m-%d %H:%M %Z").strip()
    except ValueError:
        return ""
