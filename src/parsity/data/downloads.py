"""The official addresses: plain downloads that go on where they were cut off."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import logging
import tarfile
import urllib.error
import urllib.request
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from parsity import __version__
from parsity.data.files import uncompressed
from parsity.data.sources import OutOfReachError
from parsity.errors import DamagedError

if TYPE_CHECKING:
    from pathlib import Path

    from parsity.data.catalogue import Entry
    from parsity.data.sources import Order, Progress

logger = logging.getLogger(__name__)

# Seconds without a connection, or without a byte, before an address counts as out of reach.
PATIENCE = 5.0
_ATTEMPTS = 5
_CHUNK = 1 << 17


def from_addresses(entry: Entry, order: Order) -> None:
    """Download what ``order`` wants from the official addresses."""
    for address in entry.addresses:
        name = PurePosixPath(address).name
        archive = name.endswith((".tar.gz", ".tgz"))
        if not archive and name.removesuffix(".gz") not in order.wanted:
            continue
        part = order.work / f"{hashlib.sha256(address.encode()).hexdigest()[:8]}-{name}.part"
        begun = part.exists()
        download(address, part, progress=order.progress)
        try:
            _unpack(address, part, order)
        except DamagedError as error:
            part.unlink()
            if not begun:
                raise
            # What an earlier, killed run had left may have been the fault.
            logger.info("%s; downloading it again from the start", error)
            download(address, part, progress=order.progress)
            _unpack(address, part, order)
        part.unlink()
    if order.wanted:
        raise OutOfReachError(f"{entry.addresses[0]} does not hold {', '.join(order.wanted)}")


def download(address: str, part: Path, *, progress: Progress) -> None:
    """Bring all of ``address`` into ``part``, going on from what is already there."""
    for attempt in range(1, _ATTEMPTS + 1):
        before = part.stat().st_size if part.exists() else 0
        try:
            _transfer(address, part, begin=before, progress=progress)
        except _CutOffError as error:
            if attempt == _ATTEMPTS or part.stat().st_size <= before:
                raise OutOfReachError(f"{address}: {error}") from error
            logger.info("%s: %s; going on from there", address, error)
        else:
            return


class _CutOffError(Exception):
    """A transfer ended early; what came is kept."""


def _transfer(address: str, part: Path, *, begin: int, progress: Progress) -> None:
    headers = {"User-Agent": f"parsity/{__version__}"}
    if begin:
        headers["Range"] = f"bytes={begin}-"
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - addresses are the catalogue's
    try:
        response = urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310
    except urllib.error.HTTPError as error:
        with error:
            nothing_left = error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and begin
        if not nothing_left:
            raise OutOfReachError(f"{address}: HTTP {error.code} {error.reason}") from error
        if error.headers.get("Content-Range") != f"bytes */{begin}":
            part.unlink()
            _transfer(address, part, begin=0, progress=progress)
        return
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise OutOfReachError(f"{address}: {getattr(reason, 'strerror', None) or reason}") from error
    with response:
        continued = (response.headers.get("Content-Range") or "").startswith(f"bytes {begin}-")
        done = begin if continued else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else None
        with part.open("ab" if continued else "wb") as stream:
            progress(address, done, total)
            while chunk := _chunk(response, done):
                stream.write(chunk)
                done += len(chunk)
                progress(address, done, total)
    if total is not None and done < total:
        raise _CutOffError(f"cut off at {done:,} of {total:,} bytes")


def _chunk(response: http.client.HTTPResponse, done: int) -> bytes:
    # Only reading is guarded: a full disk must not look like a weak connection.
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _CutOffError(f"cut off at {done:,} bytes ({error})") from error


def _unpack(address: str, part: Path, order: Order) -> None:
    name = PurePosixPath(address).name
    if not name.endswith((".tar.gz", ".tgz")):
        name = name.removesuffix(".gz")
        with part.open("rb") as stream:
            zipped = stream.read(2) == b"\x1f\x8b"
        contents = uncompressed(part, limit=order.wanted[name].size, zipped=zipped)
        order.deliver(name, contents, origin=address)
        return
    try:
        # Members are read one by one and never extracted, so none can choose where it lands.
        with tarfile.open(part, "r|gz") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                stream_of_member = archive.extractfile(member) if name in order.wanted else None
                if stream_of_member is not None:
                    limit = order.wanted[name].size + 1
                    order.deliver(name, stream_of_member.read(limit), origin=address)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DamagedError(f"{address}: not a whole tar.gz archive ({error})") from error
