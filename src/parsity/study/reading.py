"""From a study file, or the name of a preset, to a spec."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parsity.errors import UsageError
from parsity.extensions import unknown
from parsity.study.overrides import apply_overrides
from parsity.study.presets import preset_document
from parsity.study.spec import StudySpec
from parsity.training import WORKLOADS

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_spec(path: Path, overrides: Iterable[str] = ()) -> StudySpec:
    """Read a study file; ``overrides`` are laid over what it says."""
    document = read_document(path)
    filled = apply_overrides(document, overrides)
    if "name" not in filled and filled.get("workload") not in [*WORKLOADS]:
        # One's own workload has no name but the file's, or that of the folder of a plain `study.toml`.
        stem = path.stem if path.stem != "study" else path.absolute().parent.name
        filled["name"] = stem if stem.strip() and stem.isprintable() else "study"
    return StudySpec.from_document(filled, str(path))


def find_spec(name: str, *, scale: str | None = None, overrides: Iterable[str] = ()) -> StudySpec:
    """The spec of a study file, or of a preset; what ends in .toml or exists is a file."""
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        if scale is not None:
            raise UsageError(f"--scale {scale}: it is for presets, and {name} is a study file")
        return read_spec(path, overrides)
    if name.partition("/")[0] not in WORKLOADS:
        known = unknown("presets", name, WORKLOADS, paths=False)
        raise UsageError(f"{name}: there is no such study file or folder here, and as for {known}")
    return StudySpec.from_document(apply_overrides(preset_document(name, scale), overrides), name)


def read_document(path: Path) -> dict[str, Any]:
    """What a study file says, as plain data."""
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); `parsity new PRESET` writes one") from error
    return parse(contents, str(path))


def parse(contents: bytes, source: str) -> dict[str, Any]:
    """The plain data of TOML; what is no TOML is refused with its line and column."""
    try:
        # Some editors begin a file with a byte order mark.
        return tomllib.loads(contents.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = contents[: error.start].count(b"\n") + 1
        raise UsageError(f"{source}: line {line}: not UTF-8; allowed: TOML, which is UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        wrong = _AT.sub("", str(error))
        where = "" if at is None else f"line {at[1]}, column {at[2]}: " if at[1] else "at its end: "
        raise UsageError(
            f"{source}: {where}{wrong[:1].lower()}{wrong[1:]}; allowed: TOML, see https://toml.io"
        ) from error
    except (RecursionError, ValueError) as error:  # lists in lists without end, a number of thousands of digits
        raise UsageError(f"{source}: beyond reading; allowed: the keys of a study file") from error
