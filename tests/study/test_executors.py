"""What holds for every executor: the same results and digest, whatever runs the trials, stops them or goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parsity.errors import UsageError
from parsity.study import Study, StudySpec

pytestmark = pytest.mark.xdist_group("ray")  # one process, one cluster

SPEC = {
    "workload": "digits",
    "batch_sizes": [16, 128],
    "sparsities": [0.0, 0.9],
    "trials": 4,
    "patience": 1.5,
    "goals": [0.2, 0.1],
    "step_limit": 200,
    "check_interval": 4,
}
EXECUTORS = ["serial", "local", "ray"]

RUN = """
import sys
from pathlib import Path
from parsity.study import Study
sys.exit(Study.open(Path(sys.argv[1])).run(
    executor=sys.argv[2], address=sys.argv[3] or None, checkpoint_seconds=0.05).exit_code)
"""


def make(folder: Path, **changes) -> Study:
    return Study.create(folder, StudySpec.from_document(SPEC | changes))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Study:
    study = make(tmp_path_factory.mktemp("studies") / "whole")
    assert study.run(executor="serial").exit_code == 0
    return study


@pytest.fixture(params=EXECUTORS)
def how(request) -> dict[str, str | None]:
    """The arguments that choose an executor."""
    address = request.getfixturevalue("ray_cluster").address if request.param == "ray" else None
    return {"executor": request.param, "address": address}


def stopped_at_a_checkpoint(folder: Path, how: dict[str, str | None]) -> Study:
    """A study whose driver got a SIGINT while it had checkpoints, and that left some."""
    for attempt in range(10):  # the tasks that had them may be done before the signal has come to all
        study = make(folder / f"stopped {attempt}")
        driver = subprocess.Popen(
            [sys.executable, "-c", RUN, str(study.folder), how["executor"], how["address"] or ""],
            stdout=subprocess.PIPE,
        )
        while driver.poll() is None and not list(study.folder.glob("checkpoints/*.race")):
            time.sleep(0.02)
        driver.send_signal(signal.SIGINT)
        assert driver.communicate(timeout=60)[0] == b""
        assert driver.returncode in {0, 128 + signal.SIGINT}
        if list(study.folder.glob("checkpoints/*.race")):
            assert driver.returncode == 128 + signal.SIGINT
            return study
    pytest.fail("no run left a checkpoint")


class TestEveryExecutor:
    def test_gives_the_same_digest(self, whole, tmp_path, how):
        """And says meanwhile who is at work on what."""
        study, seen = make(tmp_path / "ein Ordner für Studien"), []

        def watch(driver):
            seen.append(({place.task for place in driver.executor.crew} - {None}, set(driver.running)))

        assert study.run(**how, watch=watch).exit_code == 0
        assert study.digest() == whole.digest()
        assert any(busy for busy, _ in seen)
        assert all(busy <= running for busy, running in seen if running)
        assert study.verify() == []
        assert not list(study.folder.glob("checkpoints/*"))
        assert len(list(study.folder.glob("scores/*"))) == SPEC["trials"]

    def test_leaves_checkpoints_when_told_to_stop_and_any_other_goes_on(self, whole, tmp_path, how, request):
        study = stopped_at_a_checkpoint(tmp_path, how)
        before = {(t.batch_size, t.sparsity, t.result.number) for t in study.trials()}
        after = EXECUTORS[EXECUTORS.index(how["executor"]) - 1]
        address = request.getfixturevalue("ray_cluster").address if after == "ray" else None
        assert study.run(executor=after, address=address).exit_code == 0
        assert before < {(t.batch_size, t.sparsity, t.result.number) for t in study.trials()}
        assert study.digest() == whole.digest()
        assert not list(study.folder.glob("checkpoints/*"))

    def test_runs_the_users_own_modules(self, tmp_path, monkeypatch, how):
        """Named by import path, with a neighbour they import, from a folder that workers elsewhere do not have."""
        (tmp_path / "our_nets.py").write_text("import our_parts\ndef make():\n    return our_parts.network()\n")
        (tmp_path / "our_parts.py").write_text(
            "from torch import nn\ndef network():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"
        )
        (tmp_path / "our_data").mkdir()
        (tmp_path / "our_data" / "__init__.py").write_text(
            "from pathlib import Path\nimport torch\nfrom parsity.data import Dataset\n"
            "def few():\n    seed = int(Path(__file__).with_name('seed.txt').read_text())\n"
            "    labels = torch.arange(300) % 10\n"
            "    noise = torch.rand(300, 1, 8, 8, generator=torch.Generator().manual_seed(seed))\n"
            "    return Dataset.from_tensors(noise + torch.eye(10, 64)[labels].view(-1, 1, 8, 8) * 5, labels)\n"
        )
        (tmp_path / "our_data" / "seed.txt").write_text("7")
        monkeypatch.chdir(tmp_path)
        for name in ("our_nets", "our_parts", "our_data"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        workload = {"data": "our_data:few", "network": "our_nets:make", "optimiser": "sgd", "schedule": "constant"}
        changes = {"workload": workload, "batch_sizes": [16], "sparsities": [0.5], "trials": 2, "goals": [0.1]}
        study = make(tmp_path / "study", **changes)
        assert study.run(**how).exit_code == 0
        (row,) = study.table()
        assert row.steps_to_result is not None

    def test_ends_with_the_line_of_the_users_mistake(self, tmp_path, monkeypatch, how):
        (tmp_path / "wrong.py").write_text("def make():\n    return 3\n")
        monkeypatch.chdir(tmp_path)
        workload = {"data": "digits", "network": "wrong:make", "optimiser": "momentum", "schedule": "constant"}
        study = make(tmp_path / "study", workload=workload, batch_sizes=[64], sparsities=[0.0], trials=2)
        with pytest.raises(UsageError, match=r"must build a torch.nn.Module") as error:
            study.run(**how)
        assert "\n" not in str(error.value)


def test_an_executor_that_is_none(tmp_path):
    study = make(tmp_path / "study")
    with pytest.raises(UsageError, match="allowed are local, serial, ray"):
        study.run(executor="cloud")
    with pytest.raises(UsageError, match="goes with executor ray"):
        study.run(executor="local", address="127.0.0.1:6379")
