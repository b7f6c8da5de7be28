"""`parsity train` and `parsity scale`: what they print, what they refuse, and being one of torchrun's processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parsity.cli import main
from parsity.results import read_step_times

torchrun = pytest.mark.xdist_group("ranks")


def test_train_prints_outcomes(capsys):
    assert main(["train", "digits", "--batch-size", "64", "--trial", "3", "--steps", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "digits: B=64, sparsity 0, 1 worker, native engine"
    assert lines[1].split() == ["trial", "goal", "outcome", "step", "learning_rate", "momentum"]
    assert lines[2].split()[:2] == ["3", "0.04"]
    assert lines[2].split()[2] in ("complete", "incomplete", "infeasible")
    assert "ms a step (median)" in lines[3]


def test_a_workload_of_ones_own_goes_by_its_studys_name(capsys, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2] / "examples" / "own_model")
    assert main(["train", "study.toml", "--batch-size", "16", "--steps", "8"]) == 0
    assert capsys.readouterr().out.startswith("shapes: B=16, sparsity 0, 1 worker")


def test_train_json_has_a_race(capsys):
    assert main(["train", "digits", "--batch-size", "64", "--trials", "2", "--steps", "40", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [trial["trial"] for trial in found["trials"]] == [1, 2]
    assert found["goals"] == [{"goal": 0.04, "steps_to_result": 16, "winner": 2}]
    assert (found["workers"], found["bytes_per_step"], found["attempts"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "nosuch", "--batch-size", "8"], "'nosuch' is not known"),
        (["train", "digits", "--batch-size", "8", "--steps", "41"], "not a multiple of check_interval"),
        (["train", "digits", "--batch-size", "8", "--retries", "-1"], "--retries -1: it must be at least 0"),
        (["train", "digits", "--batch-size", "8", "--data-dir", "/nowhere"], "there is no such folder"),
        (["scale", "digits", "--output", "/nowhere/f.json"], "there is no folder /nowhere"),
    ],
)
def test_mistakes_are_one_line(words, message, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["train", "digits", "--batch-size", "0"],
        ["train", "digits", "--batch-size", "8", "--sparsity", "1"],
        ["train", "digits", "--batch-size", "8", "--workers", "0"],
        ["train", "digits", "--batch-size", "8", "--trial", "1", "--trials", "2"],
        ["scale", "digits", "--slices", "8,x"],
        ["scale", "digits", "--timeout", "0"],
    ],
)
def test_options_out_of_range_are_bad_usage(words):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2


@torchrun
def test_scale_measures_and_keeps(tmp_path, capsys):
    kept = tmp_path / "steps.json"
    words = ["--slices", "4,8", "--workers", "1,2", "--sparsities", "0,0.9", "--steps", "10", "--output", str(kept)]
    assert main(["scale", "digits", *words]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2 + 8
    found = read_step_times(kept)
    assert (found.engine, found.parameters, found.workload["network"]) == ("native", 18_346, "digits-cnn")
    assert {"cpu", "cores", "threads", "libraries"} <= set(found.machine)
    assert {(row.slice_size, row.workers, row.sparsity) for row in found.rows} == {
        (b, w, s) for b in (4, 8) for w in (1, 2) for s in (0.0, 0.9)
    }
    for row in found.rows:
        assert row.steps == 10
        assert row.compute > 0
        assert row.low <= row.high
        assert (row.exchange > 0) == (row.workers > 1)
        count = 18_346 if row.sparsity == 0 else 1_835
        assert row.bytes_sent == (0 if row.workers == 1 else 4 * (count + 1))


@torchrun
def test_under_torchrun_the_first_rank_speaks():
    torchrun = Path(sys.executable).with_name("torchrun")
    begin = [sys.executable, "-m", "torch.distributed.run"] if not torchrun.exists() else [str(torchrun)]
    words = [
        "--nproc-per-node",
        "2",
        "-m",
        "parsity",
        "train",
        "digits",
        "--batch-size",
        "9",
        "--steps",
        "20",
        "--json",
    ]
    done = subprocess.run(
        [*begin, "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
    )
    found = json.loads(done.stdout)
    assert (found["workers"], found["backend"], found["steps"]) == (2, "gloo", 20)


@pytest.mark.soak
def test_a_worker_killed_from_outside_ends_the_command_with_75():
    words = ["train", "digits", "--batch-size", "64", "--set", "goals=[0.0]", "--workers", "3", "--retries", "0"]
    command = subprocess.Popen([sys.executable, "-m", "parsity", *words], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (ranks := ranks_of(command.pid)) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(2)
    os.kill(ranks[1], signal.SIGKILL)
    _, said = command.communicate(timeout=120)
    assert command.returncode == 75
    assert "ended: signal SIGKILL (killed, or out of memory); the others ended with it" in said


def ranks_of(pid: int) -> list[int]:
    """The processes that the fork server of ``pid`` has forked, once there are three."""
    server = [child for child in children(pid) if b"forkserver" in Path(f"/proc/{child}/cmdline").read_bytes()]
    found = children(server[0]) if server else []
    return found if len(found) == 3 else []


def children(pid: int) -> list[int]:
    return [int(word) for file in Path(f"/proc/{pid}/task").glob("*/children") for word in file.read_text().split()]
