"""HTML by calls: what is not HTML already is escaped, so that no name can break the page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

Attribute = str | int | float | bool | None
VOID = {"input", "br", "meta", "link", "col"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | Iterable[str] | None


def tag(name: str, /, *content: Content, **attributes: Attribute) -> Html:
    """One element. ``class_`` and ``for_`` lose their underscore, others become dashes; None and False are left out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        words.append(word if value is True else f'{word}="{escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Html(start) if name in VOID else Html(f"{start}{join(*content)}</{name}>")


def join(*content: Content, between: str = "") -> Html:
    """Parts, one behind the other; None is nothing."""
    found: list[str] = []
    for part in content:
        if isinstance(part, str):
            found.append(part if isinstance(part, Html) else escape(part))
        elif part is not None:
            found += [one if isinstance(one, Html) else escape(one) for one in part]
    return Html(between.join(found))
