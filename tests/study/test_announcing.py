"""What a driver says of itself while it works, and that those who look do not get in its way."""

import fcntl
import json
import os
import threading
import time

import pytest
from test_driver import make

from parsity.errors import BusyError
from parsity.storage import driver_of, driving
from parsity.study import announcing
from parsity.study.announcing import ANNOUNCEMENT, announced


def test_a_driver_says_what_it_is_doing_until_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(announcing, "EVERY", 0.0)
    study, heard = make(tmp_path / "study", batch_sizes=[16], trials=3), []
    study.run(executor="serial", watch=lambda driver: heard.append(study.announced(study.driver)))
    assert all(one["process"] == os.getpid() and one["workers"] == 1 for one in heard)
    assert heard[-1]["running"] == []
    assert [(cell["batch_size"], cell["sparsity"]) for cell in heard[-1]["newest"]] == sorted(
        [(16, 0.0), (16, 0.9)], key=lambda cell: -cell[1]
    )
    at_work = [one for one in heard if one["running"]]
    assert {(task["batch_size"], task["trials"]) for one in at_work for task in one["running"]} == {(16, 3)}
    assert any(float(goal) in (0.1, 0.2) for one in at_work for task in one["running"] for goal in task["reached"])
    images = [one["images"] for one in heard]
    assert images == sorted(images) and images[-1] > 0
    assert all(0 <= one["left"]["low"] <= one["left"]["middle"] <= one["left"]["high"] for one in heard)
    assert study.announced(study.driver) is None
    assert not [path for path in study.folder.iterdir() if ANNOUNCEMENT in path.name]


def test_a_driver_works_on_where_it_cannot_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(announcing, "EVERY", 0.0)
    study = make(tmp_path / "study", batch_sizes=[16], sparsities=[0.0], trials=2)
    (study.folder / ANNOUNCEMENT).mkdir()
    assert study.run(executor="serial").exit_code == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "null", json.dumps({"process": 1}), "\x00"])
def test_only_the_word_of_the_driver_there_is_counts(tmp_path, text):
    (tmp_path / ANNOUNCEMENT).write_text(text)
    assert announced(tmp_path, 4711) is None
    assert announced(tmp_path, None) is None


def test_who_looks_whether_somebody_is_at_work_keeps_nobody_from_it(tmp_path):
    lock = tmp_path / "driver.pid"
    lock.touch()
    with lock.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        threading.Timer(0.01, lambda: fcntl.flock(stream, fcntl.LOCK_UN)).start()
        with driving(lock):
            assert driver_of(lock) == os.getpid()
            started = time.monotonic()
            with pytest.raises(BusyError, match=f"process {os.getpid()}"), driving(lock):
                pass
            assert time.monotonic() > started
