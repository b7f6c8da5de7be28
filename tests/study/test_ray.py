"""Ray alone: dying workers and machines, a cluster of its own, what is sent to machines that have nothing."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from parsity.errors import UsageError
from parsity.study import Study, StudySpec
from parsity.study.executors.ray.desk import Desk
from parsity.study.executors.ray.luggage import packed

pytestmark = pytest.mark.xdist_group("ray")

SPEC = {
    "workload": "digits",
    "batch_sizes": [32],
    "sparsities": [0.0, 0.5, 0.9],
    "trials": 4,
    "patience": 2,
    "goals": [0.02],
    "step_limit": 400,
    "check_interval": 4,
}


def make(folder: Path, **changes) -> Study:
    return Study.create(folder, StudySpec.from_document(SPEC | changes))


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def raylet(node) -> int:
    return node.all_processes["raylet"][0].process.pid


def test_a_worker_and_then_a_node_die_in_the_middle(ray_cluster, tmp_path):
    """Nothing is lost, nothing doubled; what is left of the cluster does the work, from the checkpoints it was sent."""
    whole = make(tmp_path / "whole")
    whole.run(executor="serial")
    doomed = ray_cluster.add_node(num_cpus=1)
    study, killed, tries = make(tmp_path / "study"), [], Counter()

    def busy(driver, within=None):
        checkpoints = [path.name for path in study.folder.glob("checkpoints/*.race")]
        for place in driver.executor.crew:
            running = driver.running.get(place.task)
            if running and checkpoints and running.step and (within is None or parent(place.process) == within):
                return place.process
        return None

    def watch(driver):
        for running in driver.running.values():
            tries[running.task.cell, running.task.trials] = running.task.attempt
        if not killed and (process := busy(driver)):
            os.kill(process, signal.SIGKILL)
            killed.append("worker")
        elif killed == ["worker"] and busy(driver, raylet(doomed)):
            ray_cluster.remove_node(doomed, allow_graceful=False)
            killed.append("node")

    ended = study.run(executor="ray", address=ray_cluster.address, checkpoint_seconds=0.02, watch=watch)
    assert killed == ["worker", "node"]
    assert ended.exit_code == 0
    assert max(tries.values()) > 1
    numbers = Counter((t.batch_size, t.sparsity, t.result.number) for t in study.trials())
    assert set(numbers.values()) == {1}
    assert len(numbers) == 12
    assert study.digest() == whole.digest()
    assert study.verify() == []


def descendants(root: int) -> list[int]:
    """A process and all below it, by the kernel's own list."""
    every = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            every[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [root]
    for process in found:
        found += [child for child, above in every.items() if above == process]
    return found


def listening(processes: list[int]) -> set[str]:
    """The addresses at which these processes listen to TCP, as the kernel writes them."""
    sockets = set()
    for process in processes:
        for file in Path(f"/proc/{process}/fd").glob("*"):
            try:
                sockets.add(str(file.readlink()))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(words[1].rpartition(":")[0])
    return found


def own_folders() -> set[Path]:
    """Of clusters of our own: beside the usual temporary folder where that has too long a path for sockets."""
    return set(Path("/tmp").glob("parsity-ray-*"))  # noqa: S108


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def test_a_cluster_of_its_own_is_reached_by_nobody_else_and_leaves_nothing(tmp_path):
    study = make(tmp_path / "study", step_limit=20_000, goals=[0.0])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    driver = subprocess.Popen(
        [sys.executable, "-m", "parsity", "run", str(study.folder), "--executor", "ray", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    while driver.poll() is None and not any(study.folder.glob("scores/*")):
        time.sleep(0.05)
    there = descendants(driver.pid)
    folders = own_folders()  # sockets need a short path
    addresses = listening(there)
    driver.send_signal(signal.SIGINT)
    out, talk = driver.communicate(timeout=60)
    assert driver.returncode == 130, talk
    assert out == b""
    assert len(there) > 4
    assert addresses
    assert addresses <= LOOPBACK
    assert b"ray" not in talk.lower().replace(str(tmp_path).lower().encode(), b"")
    assert not list(scratch.iterdir())
    assert folders - own_folders()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{process}").exists() for process in there):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_without_ray_one_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"^executor ray: ray is not installed; pip install 'parsity\[ray\]'$"):
        make(tmp_path / "study").run(executor="ray")


def test_no_cluster_at_the_address(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_gcs_rpc_server_connect_timeout_s", "1")
    with pytest.raises(UsageError, match=r"^address nowhere: "):
        make(tmp_path / "study").run(executor="ray", address="nowhere")


def test_what_is_packed(tmp_path, monkeypatch):
    for name in ("nets.py", "beside.py", "pack/__init__.py", "pack/weights.bin", "near/__init__.py", "near/deep/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "huge.py").write_text("")
    monkeypatch.chdir(tmp_path)

    def names(*paths):
        return set(zipfile.ZipFile(io.BytesIO(packed(paths))).namelist())

    near = {"near/__init__.py", "near/deep/a.py", "pack/__init__.py"}
    assert names("mnist", "nets:make") == near | {"nets.py", "beside.py"}
    assert names("pack.inner:make") == near | {"nets.py", "beside.py", "pack/weights.bin"}
    # What is installed, and what cannot be found, is not sent; a worker says what it lacks.
    assert packed(["mnist", "sgd", "torch.nn:Linear", "json:loads", "nowhere:make"]) == b""
    monkeypatch.setattr("parsity.study.executors.ray.luggage.LARGEST", -1)
    with pytest.raises(UsageError, match="MB of code"):
        packed(["nets:make"])


def test_the_desk_keeps_files_of_two_folders_deep_and_no_others(tmp_path):
    desk = Desk(tmp_path)
    assert desk.read("scores/one") is None
    desk.write("scores/one", b"1")
    assert desk.read("scores/one") == b"1"
    assert (tmp_path / "scores" / "one").read_bytes() == b"1"
    for name in ("one", "../one", "a/../one", "/etc", "scores/..", "scores/"):
        with pytest.raises(UsageError, match="not the name"):
            desk.write(name, b"")
