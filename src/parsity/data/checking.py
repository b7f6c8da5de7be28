"""Recomputing the digests of what is already here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from parsity.data.places import locate
from parsity.errors import DamagedError

if TYPE_CHECKING:
    from pathlib import Path

    from parsity.data.catalogue import Entry


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found of one file; ``remark`` is the line for a person when it is not right."""

    data: str
    file: str
    path: str | None
    state: Literal["right", "damaged", "missing"]
    sha256: str
    remark: str | None = None


def check(entry: Entry, *, folder: Path | None = None) -> list[Finding]:
    """Recompute the digest of every file of ``entry``, where `load` would take it from. Nothing is fetched.

    The list is empty when the data set is nowhere.
    """
    place = locate(entry, folder)
    if place is None:
        return []
    findings = []
    for file in entry.files:
        path = place.paths.get(file.name)
        remark = None
        try:
            place.read(file)
        except DamagedError as error:
            remark = str(error)
        findings.append(
            Finding(
                data=entry.name,
                file=file.name,
                path=None if path is None else str(path),
                state="missing" if path is None else "damaged" if remark else "right",
                sha256=file.sha256,
                remark=remark,
            )
        )
    return findings
