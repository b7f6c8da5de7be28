"""The whole page."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from parsity.analysis import Analysis
from parsity.report.page.beside import side_by_side
from parsity.report.page.charted import charted
from parsity.report.page.embedding import data, library, resource, scripts
from parsity.report.page.markup import Html, join, tag
from parsity.report.page.reported import ReportedStudy
from parsity.report.page.sections import Told, study_section
from parsity.report.page.verdicts import claims


def page(
    studies: Sequence[ReportedStudy],
    analysis: Analysis,
    *,
    command: str,
    written: str,
    version: str,
    state: str | None = None,
) -> str:
    """The page about ``studies``, which ``analysis`` is of, in the same order.

    ``command`` and ``written`` say how and when it was made. With ``state``, the page asks its server now and then
    whether the state is still that one, and loads itself again when not; without, it asks nobody anything.
    """
    pairs = list(zip(studies, analysis.studies, strict=True))
    sections = [
        study_section(Told(place=place, study=study, analysis=found, whole=analysis))
        for place, (study, found) in enumerate(pairs)
    ]
    several = len(studies) > 1
    if several:
        links = [("Side by side", "beside"), *((study.name, f"study-{place}") for place, study in enumerate(studies))]
    else:
        links = [("Answer", "study-0"), *sections[0][1]]
    document = {
        "studies": [charted(study, found) for study, found in pairs],
        "state": state,
    }
    return _filled(
        title="Parsity: " + ", ".join(study.name for study in studies),
        connect="'self'" if state is not None else "'none'",
        navigation=_navigation([*links, ("Claims", "claims")]),
        main=join(
            _now() if state is not None else None,
            side_by_side(studies, analysis) if several else None,
            [section for section, _ in sections],
            _claims(analysis),
        ),
        footer=_footer(command, written, version, analysis),
        data=data("parsity-data", document),
        library=library(),
        scripts=scripts(),
        version=version,
    )


def problem_page(problem: str, *, version: str, state: str) -> str:
    """What is served where the study cannot be read just now; it loads itself again once the state is another."""
    words = tag("section", tag("h2", "There is nothing to show yet"), tag("p", problem, class_="lead"))
    return _filled(
        title="Parsity",
        connect="'self'",
        navigation="",
        main=words,
        footer="",
        data=data("parsity-data", {"studies": [], "state": state}),
        library="",
        scripts=scripts(),
        version=version,
    )


def _now() -> Html:
    """Where the page's script shows what the studies are doing, as long as they are not finished."""
    return tag("section", class_="now", id="now", data_role="now", hidden=True, aria_label="What is being measured now")


def _filled(*, title: str, version: str, **parts: str) -> str:
    safe = {"title": join(title), "version": join(version)}
    return Template(resource("page.html")).substitute(safe, style=resource("style.css"), **parts)


def _navigation(links: Sequence[tuple[str, str]]) -> Html:
    return tag("ul", [tag("li", tag("a", name, href=f"#{target}")) for name, target in links])


def _claims(analysis: Analysis) -> Html:
    text = "What Lee, Ajanthan, Torr and Jaggi (ICLR 2021) found, held against what is measured here."
    return tag(
        "section",
        tag("h2", "The paper's claims", id="claims"),
        tag("p", text, class_="meta"),
        claims(analysis.claims),
        class_="of-all",
        aria_labelledby="claims",
    )


def _footer(command: str, written: str, version: str, analysis: Analysis) -> Html:
    how = f"Intervals are 95 % and rest on {analysis.draws:,} resamplings of the trials, with seed {analysis.seed}."
    return join(
        tag("h2", "How this page was made"),
        tag(
            "div",
            tag("pre", tag("code", command), tabindex="0"),
            tag("button", "Copy", type="button", class_="copy", data_copy="pre", aria_label="Copy the command"),
            class_="copied",
        ),
        tag("p", f"Written {written} by Parsity {version}. {how}", class_="note"),
    )
