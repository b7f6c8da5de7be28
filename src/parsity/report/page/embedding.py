"""Data and scripts inside the page, so that nothing has to be fetched and nothing in them can end their element."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from parsity.report.page.markup import Html

SCRIPTS = ("kit.js", "curves.js", "workers.js", "clouds.js", "controls.js", "place.js", "live.js", "start.js")


def data(name: str, document: Any) -> Html:
    """Plain data as strict JSON in an element of its own; what is not finite becomes null."""
    text = json.dumps(_strict(document), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Inside a script, only these could be taken for markup; JSON knows them by their escapes as well.
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


@cache
def library() -> Html:
    """The charting library, as its Python package ships it."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    return _script(get_plotlyjs())


@cache
def scripts() -> Html:
    """The page's own scripts, as one."""
    return _script('"use strict";(() => {\n' + "\n".join(map(resource, SCRIPTS)) + "\n})();")


@cache
def resource(name: str) -> str:
    """A file that lies beside this one."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def _script(code: str) -> Html:
    if "</script" in code.lower() or "<!--" in code:
        raise ValueError("a script that may end its own element cannot be embedded")
    return Html(f"<script>{code}</script>")


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _strict(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(one) for one in value]
    return value
