"""Controls of the page, and the places that its scripts draw charts in."""

from __future__ import annotations

from parsity.report.page.markup import Content, Html, tag


def choices(title: str, name: str, labels: list[str], first: int, *, role: str) -> Html:
    """Radio buttons that look like one switch."""
    inside = [
        tag(
            "label",
            tag("input", type="radio", name=name, value=number, checked=number == first, data_role=role),
            tag("span", label),
        )
        for number, label in enumerate(labels)
    ]
    return tag("fieldset", tag("legend", title), tag("div", inside, class_="segments"), class_="choice needs-script")


def chart(role: str, name: str, label: str, caption: Content) -> Html:
    """A place for a chart."""
    text = "This chart needs a browser that runs scripts; the tables below hold its numbers."
    return tag(
        "figure",
        tag(
            "div",
            tag("noscript", tag("p", text, class_="note")),
            class_="chart",
            id=name,
            data_chart=role,
            role="group",
            aria_label=label,
        ),
        tag("figcaption", caption),
        class_="wide",
    )
