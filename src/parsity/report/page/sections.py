"""The parts of the page that belong to one study, in one list: a new part is a function and a line in `PARTS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parsity.analysis import Analysis, StudyAnalysis
from parsity.report.page.answer import answer
from parsity.report.page.charts import clouds, curves
from parsity.report.page.controls import choices
from parsity.report.page.findings import Finding, headline_goal
from parsity.report.page.markup import Html, join, tag
from parsity.report.page.numbers import called, counted, listed, short
from parsity.report.page.provenance import notices, provenance
from parsity.report.page.reported import ReportedStudy
from parsity.report.page.seconds import seconds
from parsity.report.page.tables import tables
from parsity.report.page.verdicts import verdicts
from parsity.report.page.workers import workers, workers_chart


@dataclass(frozen=True, kw_only=True)
class Told:
    """One study on the page: its place among the studies, what is known of it, and the goal to begin with."""

    place: int
    study: ReportedStudy
    analysis: StudyAnalysis
    whole: Analysis

    @property
    def findings(self) -> list[Finding]:
        """What is known for each goal."""
        return [Finding(self.study, self.analysis, self.whole, goal) for goal in self.study.goals]

    @property
    def first(self) -> int:
        """The place of the goal to begin with."""
        return self.study.goals.index(headline_goal(self.study, self.analysis))

    @property
    def several(self) -> bool:
        """Whether the study has several goals."""
        return len(self.study.goals) > 1

    def each_goal(self, made: Callable[[Finding], Html]) -> Html:
        """What depends on the goal is there once for each; the page shows the one that is chosen."""
        return join(
            [
                tag(
                    "div",
                    tag("p", f"Goal: error {short(finding.goal)}", class_="which-goal") if self.several else None,
                    made(finding),
                    class_="for-goal shown" if number == self.first else "for-goal",
                    data_goal=number,
                )
                for number, finding in enumerate(self.findings)
            ]
        )


@dataclass(frozen=True)
class Part:
    """One part of a study's section: its heading, and what makes it; one that makes nothing is left out."""

    title: str
    made: Callable[[Told], Html | None]


def _workers(told: Told) -> Html:
    return join(workers_chart(told.place), told.each_goal(workers))


PARTS = (
    Part("Curves", lambda told: curves(told.place, with_ratios=bool(told.analysis.ratios))),
    Part("Workers", lambda told: _workers(told) if told.study.plans else None),
    Part("Clouds", lambda told: clouds(told.place) if told.analysis.curves else None),
    Part("Verdicts", lambda told: told.each_goal(verdicts) if told.analysis.curves else None),
    Part("Tables", lambda told: told.each_goal(tables) if told.analysis.curves else None),
    Part("Seconds", lambda told: told.each_goal(seconds) if told.analysis.seconds else None),
    Part("Provenance", lambda told: provenance(told.study)),
)


def study_section(told: Told) -> tuple[Html, list[tuple[str, str]]]:
    """Everything about one study, and its parts by title and the name to jump to."""
    found = [(part.title, f"{part.title.lower().replace(' ', '-')}-{told.place}", part.made(told)) for part in PARTS]
    there = [(title, name, content) for title, name, content in found if content is not None]
    section = tag(
        "section",
        _head(told.place, told.study),
        notices(told.study),
        _goals(told),
        told.each_goal(answer),
        [_part(title, name, content) for title, name, content in there],
        class_="study",
        id=f"study-{told.place}",
        data_study=told.place,
        data_first_goal=told.first,
        aria_labelledby=f"name-{told.place}",
    )
    return section, [(title, name) for title, name, _ in there]


def _part(title: str, name: str, content: Html) -> Html:
    return tag("section", tag("h3", title, id=name), content, class_="part", aria_labelledby=name)


def _head(place: int, study: ReportedStudy) -> Html:
    measured = study.measured
    parts = []
    if measured.network and measured.data:
        parts.append(f"{measured.network} on {measured.data}")
    if measured.optimiser:
        parts.append(measured.optimiser)
    sparsities = sorted({cell.sparsity for cell in study.progress})
    trials = max((cell.planned for cell in study.progress), default=0)
    parts.append(f"{counted(len(study.progress), 'cell')} of {counted(trials, 'trial')}")
    if sparsities:
        parts.append(listed([called(sparsity) for sparsity in sparsities]))
    return tag("header", tag("h2", study.name, id=f"name-{place}"), tag("p", " · ".join(parts), class_="meta"))


def _goals(told: Told) -> Html | None:
    if not told.several:
        return None
    labels = [f"error {short(goal)}" for goal in told.study.goals]
    return choices("Goal", f"goal-{told.place}", labels, told.first, role="goal")
