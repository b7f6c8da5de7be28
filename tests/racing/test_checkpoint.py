"""Checkpoints: what is saved comes back bit for bit; damage goes back to the older one, never to a wrong state."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from parsity.engines import Snapshot
from parsity.racing import load_checkpoint, save_checkpoint
from parsity.results import Complete, Infeasible
from parsity.training import LogEntry, TrialState


def a_state(number: int, seed: int = 0) -> TrialState:
    generator = torch.Generator().manual_seed(number + 100 * seed)
    weights, slot = (torch.randn(50, generator=generator) for _ in range(2))
    return TrialState(
        number=number,
        step=48 + seed,
        snapshot=Snapshot(weights, (slot,), (torch.arange(3), torch.rand(2, 2, generator=generator))),
        memory=torch.rand(20, generator=generator),
        outcomes={0.02: Complete(32, 16), 0.01: Infeasible(40)},
        images_looked_at=99,
        test_errors={0.02: 0.018},
        log=(LogEntry(16, 0.5, 0.1),),
        losses=(0.1, 0.2),
        seconds=1.5,
    )


def equal(a: TrialState, b: TrialState) -> bool:
    tensors = [(a.memory, b.memory), (a.snapshot.weights, b.snapshot.weights)]
    tensors += list(zip(a.snapshot.slots + a.snapshot.buffers, b.snapshot.slots + b.snapshot.buffers, strict=True))
    values = [
        (s.number, s.step, s.outcomes, s.images_looked_at, s.test_errors, s.log, s.losses, s.seconds) for s in (a, b)
    ]
    return values[0] == values[1] and all(torch.equal(x, y) and x.dtype == y.dtype for x, y in tensors)


def test_what_is_saved_comes_back(tmp_path):
    states, masks = [a_state(1), a_state(2)], {1: None, 2: None}
    save_checkpoint(tmp_path / "c", "race", states, masks)
    assert all(map(equal, load_checkpoint(tmp_path / "c", "race", masks), states))
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_only_survivors_are_kept(tmp_path):
    state, mask = a_state(1), torch.arange(50) % 10 == 0
    save_checkpoint(tmp_path / "dense", "race", [state], {1: None})
    for vector in (state.snapshot.weights, *state.snapshot.slots):
        vector.mul_(mask)
    save_checkpoint(tmp_path / "sparse", "race", [state], {1: mask})
    (back,) = load_checkpoint(tmp_path / "sparse", "race", {1: mask})
    assert equal(back, state)
    assert (tmp_path / "dense").stat().st_size - (tmp_path / "sparse").stat().st_size > 2 * 45 * 4 - 16


def test_a_damaged_one_gives_way_to_the_older(tmp_path, caplog):
    path, masks = tmp_path / "c", {1: None}
    save_checkpoint(path, "race", [a_state(1)], masks)
    path.rename(tmp_path / "c.older")
    save_checkpoint(tmp_path / "new", "race", [a_state(1, seed=1)], masks)
    whole = (tmp_path / "new").read_bytes()
    for position in range(0, len(whole), 37):
        broken = bytearray(whole)
        broken[position] ^= 16
        path.write_bytes(broken)
        (state,) = load_checkpoint(path, "race", masks)
        assert equal(state, a_state(1))
    for length in range(0, len(whole), 101):
        path.write_bytes(whole[:length])
        (state,) = load_checkpoint(path, "race", masks)
        assert equal(state, a_state(1))
    assert "damaged" in caplog.text


def test_another_races_is_not_used(tmp_path, caplog):
    save_checkpoint(tmp_path / "c", "race", [a_state(1)], {1: None})
    assert load_checkpoint(tmp_path / "c", "another", {1: None}) is None
    assert load_checkpoint(tmp_path / "nothing", "race", {1: None}) is None
    assert "belongs to another race" in caplog.text


CHILD = """
import json, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from parsity import workload
from parsity.racing import Cell, Shard, Scores
folder = Path(sys.argv[1])
cell = Cell(workload=workload("digits").with_(goals=(0.06, 0.12)), batch_size=8, sparsity=0.7, patience=1.5,
            scores=Scores(folder / "scores"))
results = Shard(cell=cell, numbers=range(1, 7), checkpoint=folder / "race", checkpoint_seconds=0.05).run()
rows = [[t.number, {str(g): [o.status, o.step] for g, o in t.outcomes.items()}, t.steps, t.images_looked_at,
         {str(g): e for g, e in t.test_errors.items()}] for t in results]
print(json.dumps(rows))
"""


def start(folder: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", CHILD, str(folder)], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_killed_and_resumed_equals_never_killed(tmp_path, kills):
    folder = tmp_path / "whole"
    folder.mkdir()
    expected = json.loads(start(folder).communicate()[0])
    folder = tmp_path / "killed"
    folder.mkdir()
    killed = 0
    while True:
        child = start(folder)
        if killed < kills:
            # Wait for a checkpoint of its own making, then strike at some moment after it.
            seen = time.time()
            while child.poll() is None and not any(p.stat().st_mtime > seen for p in folder.glob("race") if p.exists()):
                time.sleep(0.01)
            time.sleep(0.013 * (killed % 7))
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
                killed += 1
        output = child.communicate()[0]
        if child.returncode == 0:
            break
    assert killed > 0
    assert json.loads(output) == expected
