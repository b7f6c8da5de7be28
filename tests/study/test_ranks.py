"""A study whose trials are trained by several ranks: the same steps-to-result, and no rank that cannot be lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsity.cli import main
from parsity.errors import UsageError
from parsity.results import Complete
from parsity.study import Driver, Study, StudySpec

pytestmark = pytest.mark.xdist_group("ranks")

# A constant rate, asked for at every step; so it knows where everybody is, and can be told what shall befall whom.
OUR_RATES = """
import multiprocessing, os, signal, time
from pathlib import Path
from torch import distributed

def befalls(what):
    return Path(what).exists() and not Path(what).replace(f"{what} done").stat().st_size

class Rates:
    def __call__(self, step):
        if distributed.is_initialized():
            rank = distributed.get_rank()
            with open(f"rank {rank}", "a") as file:
                file.write(f"{os.getpid()} {step}\\n")
            if step == 22 and rank == 1 and befalls("rank killed"):
                os.kill(os.getpid(), signal.SIGKILL)
            if step == 31 and rank == 0 and befalls("starter killed"):
                os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
                time.sleep(60)
            if step == 22 and rank == 0 and befalls("rest"):
                while not Path("rested").exists():
                    time.sleep(0.05)
                time.sleep(3)  # word of it has been sent, and has two processes to go through
        return 1.0
"""
PARTS = {"data": "digits", "network": "digits-cnn", "optimiser": "momentum", "schedule": "our_rates:Rates"}
SPEC = {
    "workload": PARTS,
    "batch_sizes": [64],
    "sparsities": [0.0, 0.9],
    "trials": 2,
    "patience": 1,
    "goals": [0.05],
    "step_limit": 200,
    "check_interval": 10,
    "engine": "native",
}
SPARSE = {"sparsities": [0.9]}
PARAMETERS = 18_346


def make(folder: Path, **changes: object) -> Study:
    return Study.create(folder, StudySpec.from_document(SPEC | changes))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, where ranks find our rates, and leave word."""
    (tmp_path / "our_rates.py").write_text(OUR_RATES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Measured by two ranks, nothing having gone wrong."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "our_rates.py").write_text(OUR_RATES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        study = make(folder / "together", ranks=2)
        assert study.run(executor="serial").exit_code == 0
    yield study


def steps_of(path: Path) -> dict[int, list[int]]:
    """By process, in their order, the steps that it took."""
    found: dict[int, list[int]] = {}
    for line in path.read_text().splitlines():
        found.setdefault(int(line.split()[0]), []).append(int(line.split()[1]))
    return found


def of_the_sparse_cell(study: Study) -> list[object]:
    """All that is no measurement of time, or of how often one was interrupted."""
    return [(t.result.number, t.result.outcomes, t.result.steps, t.mask_digest) for t in study.trials() if t.sparsity]


def ended(pids: list[int], within: float = 20.0) -> bool:
    deadline = time.monotonic() + within
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_steps_to_result_are_those_of_one_process(together, here):
    alone = make(here / "alone")
    assert alone.run(executor="serial").exit_code == 0
    assert [(row.steps_to_result, row.winner, row.outcomes) for row in together.table()] == [
        (row.steps_to_result, row.winner, row.outcomes) for row in alone.table()
    ]
    assert all(row.steps_to_result > 22 for row in alone.table())  # what befalls anybody does so before
    assert together.spec.identity != alone.spec.identity
    for ours, theirs in zip(together.trials(), alone.trials(), strict=True):
        assert ours.mask_digest == theirs.mask_digest
        assert ours.engine == theirs.engine == "native"
        kept = round((1 - ours.sparsity) * PARAMETERS)
        # The surviving entries and the loss, four bytes each; where nobody is beside, nothing is sent.
        assert (ours.result.bytes_per_step, theirs.result.bytes_per_step) == (4 * (kept + 1), 0)
        assert ours.result.step_seconds
    assert together.verify() == []
    assert not list(together.folder.glob("checkpoints/*"))


SAID = {
    "rank killed": ": rank 1 of 2 ended: signal SIGKILL (killed, or out of memory); the others ended with it; trying",
    "starter killed": " ended: signal SIGKILL (killed, or out of memory); trying",
}


@pytest.mark.parametrize(
    ("what", "executor"), [("rank killed", "serial"), pytest.param("starter killed", "local", marks=pytest.mark.soak)]
)
def test_what_dies_is_replaced_and_nothing_is_lost(together, here, caplog, what, executor):
    """A rank in the middle of a step; or the worker that started the ranks, which then end too."""
    study = make(here / "study", ranks=2, **SPARSE)
    (here / what).touch()
    done = study.run(executor=executor, workers=1, checkpoint_seconds=0.0)
    assert done.exit_code == 0
    first, second = steps_of(here / "rank 0").items()
    assert first[1][0] == 0
    assert second[1][0] >= 10, "it has begun anew"
    assert ended([pid for name in ("rank 0", "rank 1") for pid in steps_of(here / name)]), "a rank outlives its starter"
    assert of_the_sparse_cell(study) == of_the_sparse_cell(together)
    assert study.verify() == []
    assert not list(study.folder.glob("checkpoints/*"))
    assert any(f"{SAID[what]} again (1 of 3)" in record.getMessage() for record in caplog.records)


def test_told_to_stop_they_leave_a_checkpoint_and_others_go_on(together, here):
    study = make(here / "study", ranks=2, **SPARSE)
    (here / "rest").touch()

    def stop(driver: Driver) -> None:
        if driver.stopping:
            (here / "rested").touch()
        elif (here / "rest done").exists():
            driver.ask_to_stop()

    done = study.run(workers=1, checkpoint_seconds=1e9, watch=stop)
    assert done.how == "interrupted"
    assert list(study.folder.glob("checkpoints/*.race"))
    assert study.run(executor="serial").exit_code == 0
    assert list(steps_of(here / "rank 0").values())[1][0] >= 20
    assert of_the_sparse_cell(study) == of_the_sparse_cell(together)


OUR_DATA = """
import os, signal
import torch
from torch import distributed
from parsity.data import Dataset
def few():
    if distributed.is_initialized() and distributed.get_rank() == 1:
        {fate}
    labels = torch.arange(300) % 10
    noise = torch.rand(300, 1, 8, 8, generator=torch.Generator().manual_seed(7))
    return Dataset.from_tensors(noise, labels)
"""


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "rank 1 of 2 ended: signal SIGKILL"),
        pytest.param("raise ValueError('a bug')", "ValueError: a bug", marks=pytest.mark.soak),
    ],
)
def test_what_fails_four_times_is_set_aside_by_name(tmp_path, monkeypatch, fate, reason):
    name = f"our_data_{'killed' if 'kill' in fate else 'wrong'}"
    (tmp_path / f"{name}.py").write_text(OUR_DATA.format(fate=fate))
    monkeypatch.chdir(tmp_path)
    workload = {"data": f"{name}:few", "network": "digits-cnn", "optimiser": "sgd"}
    study = make(tmp_path / "study", workload=workload, sparsities=[0.0], trials=1, ranks=2, engine="native")
    done = study.run(executor="serial")
    assert done.exit_code == 3
    (aside,) = done.set_aside
    assert aside.reason.startswith(reason)
    assert aside.attempts == 4


@pytest.mark.soak
def test_workers_beside_each_other_choose_and_share(tmp_path):
    """Two workers of two ranks each: the cell's engine is measured by one, its goals are news to the other."""
    study = make(tmp_path / "study", workload="digits", ranks=2, engine="auto", sparsities=[0.0])
    assert study.run(workers=2).exit_code == 0
    with study.store() as store:
        (choice,) = store.engines().values()
    assert choice.images == 32  # the half of a batch
    assert {trial.engine for trial in study.trials()} == {choice.engine}
    assert any(isinstance(one, Complete) for trial in study.trials() for one in trial.result.outcomes.values())


def test_ray_has_one_rank(tmp_path):
    study = make(tmp_path / "study", workload="digits", ranks=2)
    with pytest.raises(UsageError, match=r"^ranks 2: with executor ray a trial has 1; allowed are local and serial$"):
        study.run(executor="ray")


def test_a_plan_and_a_state_say_so(together, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "digits", "--set", "ranks=2", "--workers", "3", "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith(" with 3 workers of 2 ranks each\n")
    assert main(["status", str(together.folder)]) == 0
    assert main(["export", str(together.folder), "--to", "csv", "--output", str(tmp_path / "exported")]) == 0
    rows = [line.split(",") for line in next((tmp_path / "exported").glob("*trials*")).read_text().splitlines()]
    sent = rows[0].index("bytes_per_step")
    assert {row[sent] for row in rows[1:]} == {str(4 * (PARAMETERS + 1)), str(4 * (round(0.1 * PARAMETERS) + 1))}
