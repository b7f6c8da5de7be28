"""`parsity watch`: what it shows of studies as they grow, and when it ends."""

import contextlib
import fcntl
import json
import os
import shutil
import time

import pytest

from parsity.cli import main, watch
from parsity.cli.live import Absence, Looking
from parsity.study import STORE, Store

KEYS = [(8, 0.0), (8, 0.9), (32, 0.0), (32, 0.9)]


@pytest.fixture
def meanwhile(monkeypatch):
    """What happens between one look and the next; more looks than that would be too many."""

    def happen(*events):
        waiting = list(events)
        monkeypatch.setattr(watch.time, "sleep", lambda seconds: waiting.pop(0)())
        return waiting

    return happen


@contextlib.contextmanager
def at_work(folder, **said):
    """This process is the driver, and says what it is doing."""
    known = {"process": os.getpid(), "at": time.time(), "seconds": 10.0, "stopping": False, "workers": 2}
    left = {"low": 60.0, "middle": 90.0, "high": 150.0}
    with (folder / "driver.pid").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(f"{os.getpid()}\n")
        held.flush()
        document = {**known, "images": 5000, "left": left, "newest": [], "running": [], **said}
        (folder / "driver.json").write_text(json.dumps(document))
        yield


def test_a_finished_study_is_shown_once(finished, say):
    shown = say("watch", finished).splitlines()
    assert shown[0] == "digits: finished, digits-cnn on digits"
    assert shown[-1].strip().startswith("12 of 12 trials, 4 of 4 cells; ")


def test_the_grid_has_the_steps_of_every_cell(finished, say):
    lines = say("watch", finished, "--once").splitlines()
    grid = [line.split() for line in lines[lines.index("") + 1 :][:3]]
    assert grid == [["batch", "size", "0", "0.9"], ["2", "592", "1,480"], ["64", "48", "-"]]
    assert "- no trial has reached the goal" in lines


def test_an_unfinished_study_says_what_is_due_and_how_to_go_on(unfinished, say, say_json):
    shown = say("watch", unfinished, "--once", code=3)
    assert f"nobody is at work; to go on: parsity run {unfinished}" in shown
    assert [line.split() for line in shown.splitlines() if line.lstrip().startswith(("8 ", "32 ", "128 "))] == [
        ["8", "64", "1,024?"],
        ["32", "1/2?", "800!"],
        ["128", ".", "."],
    ]
    found = say_json("watch", unfinished, "--once", code=3)
    assert [cell["state"] for cell in found["cells"]] == [
        "finished",
        "begun",
        "begun",
        "finished",
        "waiting",
        "waiting",
    ]
    assert found["driver"] is None and found["images_per_second"] is None
    assert 0 < found["left"]["low"] < found["left"]["middle"] < found["left"]["high"]
    assert "100" not in say("watch", unfinished, "--once", "--goal", "0.1", code=3)


def test_what_the_driver_says_is_newer_than_the_store(growing, say, say_json, grow):
    running = {"batch_size": 8, "sparsity": 0.9, "trials": 1, "step": 40, "reached": {}}
    other = {**running, "batch_size": 32, "reached": {"0.04": 24}}
    grow(growing, KEYS[0])
    with at_work(growing, running=[running, {**running, "step": 32}, other], newest=[{"batch_size": 8, "sparsity": 0}]):
        shown = say("watch", growing, "--once")
        found = say_json("watch", growing, "--once")
    assert "500 images/s, about 1 min 30 s left (1 min 00 s to 2 min 30 s)" in shown
    assert f"process {os.getpid()} is at work with 2 workers" in shown
    assert "step 32>" in shown and "24>" in shown and "> at work" in shown
    assert "B=8 S=0: K* = 65 (trial 1)" in shown
    assert [cell["state"] for cell in found["cells"]] == ["finished", "running", "waiting", "running"]


def test_it_does_not_end_while_somebody_tries_again_what_was_set_aside(finished, say, meanwhile):
    with contextlib.ExitStack() as driver:
        driver.enter_context(at_work(finished))
        left = meanwhile(driver.close)
        assert "being measured" in say("watch", finished)
    assert not left


def test_what_another_process_has_left_behind_is_not_believed(growing, say_json):
    with at_work(growing, process=1):
        assert say_json("watch", growing, "--once")["images_per_second"] is None
    with at_work(growing):
        (growing / "driver.json").write_text('{"process": ')
        assert say_json("watch", growing, "--once")["images_per_second"] is None


def test_it_follows_a_study_to_its_end(growing, say, meanwhile, grow):
    left = meanwhile(*(lambda key=key: grow(growing, key) for key in KEYS))
    lines = say("watch", growing).splitlines()
    assert not left
    assert lines[0] == "digits: stopped, digits-cnn on digits"
    told = [line.strip() for line in lines if line.strip().startswith("B=")]
    assert told == [f"B={b} S={s:g}: K* = {8 * b + round(10 * s) + 1:,} (trial 1)" for b, s in KEYS]
    assert lines[-1].strip().startswith("8 of 8 trials, 4 of 4 cells; ")


def test_it_waits_for_a_study_and_notices_another_in_its_place(growing, tmp_path, say, meanwhile, make, grow):
    place = tmp_path / "place"
    another = make(tmp_path / "another", {}, trials=2, batch_sizes=[8], sparsities=[0], goals=[0.2])
    meanwhile(
        lambda: shutil.copytree(growing, place),
        lambda: (place / STORE).unlink(),
        lambda: shutil.copy(another / STORE, place),
        lambda: (shutil.copy(growing / STORE, place), grow(place, *KEYS)),
    )
    lines = say("watch", place).splitlines()
    assert lines[0] == f"{place}: there is no study yet; waiting (`parsity run` makes one)"
    assert f"{place}: the study has gone; waiting for it to come back (`parsity run` makes one)" in lines
    assert "8 of 8 trials, 4 of 4 cells" in lines[-1]


def test_a_file_that_is_being_copied_is_no_damage_until_it_stays_so(growing, monkeypatch):
    looking = Looking(growing)
    assert looking.look().document["trials"]["due"] == 8
    whole = (growing / STORE).read_bytes()
    (growing / STORE).write_bytes(whole[: len(whole) // 2])
    assert isinstance(looking.look(), Absence)
    (growing / STORE).write_bytes(whole)
    assert looking.look().document["trials"]["due"] == 8
    (growing / STORE).write_bytes(whole[: len(whole) // 2])
    assert isinstance(looking.look(), Absence)
    monkeypatch.setattr("parsity.cli.live.PATIENCE", -1.0)
    assert main(["watch", str(growing), "--once"]) == 4


def test_the_store_is_read_only_when_it_has_changed(growing, monkeypatch, grow):
    reads = []
    overview = Store.overview
    monkeypatch.setattr(Store, "overview", lambda store: reads.append(store) or overview(store))
    looking = Looking(growing)
    before = looking.look().stamp
    assert looking.look().stamp == before
    assert len(reads) == 1
    grow(growing, KEYS[0])
    assert looking.look().stamp != before
    assert len(reads) == 2


def test_images_per_second_are_those_of_the_last_half_minute(growing):
    looking = Looking(growing)
    rates = []
    for seconds, images in [(0, 5000), (10, 7000), (50, 47_000), (60, 67_000)]:
        with at_work(growing, at=1000.0 + seconds, images=images):
            rates.append(looking.look().document["images_per_second"])
    # Before a second has passed, all there is is the mean since the driver began.
    assert rates == [500, 200, 4700, 2000]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere", "--once"], "nowhere: there is no study yet"),
        (["full"], "full: there is no study here, but thesis.txt"),
        (["full/thesis.txt"], "this is a file"),
        (["growing", "--goal", "0.5"], "--goal 0.5: this study has 0.04"),
    ],
)
def test_bad_usage_is_one_clear_line(growing, tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("all my work")
    assert main(["watch", *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("interval", ["0", "-1", "nan", "soon", "1e9"])
def test_an_interval_is_a_time_to_wait(growing, capsys, interval):
    with pytest.raises(SystemExit) as ended:
        main(["watch", str(growing), f"--interval={interval}"])
    assert ended.value.code == 2
    assert "a number of seconds from 0.1 to 3,600" in capsys.readouterr().err


def test_damage_ends_it(damaged, capsys):
    assert main(["watch", str(damaged)]) == 4
    assert "damaged" in capsys.readouterr().err


def test_ctrl_c_ends_it_without_a_word(growing, monkeypatch, capsys):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, "sleep", interrupt)
    assert main(["watch", str(growing)]) == 130
    assert capsys.readouterr().err == ""


def test_on_a_terminal_it_is_drawn_in_one_place(growing, say, meanwhile, terminal, grow):
    meanwhile(*(lambda key=key: grow(growing, key) for key in KEYS))
    terminal(80)
    shown = say("watch", growing)
    assert shown.count("digits: stopped") == 4
    assert "\x1b[1A" in shown  # a line up, to draw anew
    assert "\x1b[?25l" in shown and shown.rstrip().endswith("\x1b[?25h")  # the cursor comes back
    last = shown.rsplit("digits: finished", 1)[1]
    assert "K* = 257 (trial 1)" in last and "[========================================]" in last


def test_every_look_is_a_line_of_json(growing, say, meanwhile, grow):
    meanwhile(*(lambda key=key: grow(growing, key) for key in KEYS))
    looks = [json.loads(line) for line in say("watch", growing, "--json").splitlines()]
    assert [look["trials"]["measured"] for look in looks] == [0, 2, 4, 6, 8]
    assert looks[-1]["finished"] and not looks[0]["finished"]
