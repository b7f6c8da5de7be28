"""The driver with each executor: the same digest; resumed, extended, killed, stopped; refused when it must be."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parsity.errors import BusyError, UsageError
from parsity.study import STORE, Study, StudySpec
from parsity.study.exporting import export, import_results
from parsity.study.planning import Piece, checkpoint_path, cut, from_ranges, ranges

SPEC = {
    "workload": "digits",
    "batch_sizes": [16, 128],
    "sparsities": [0.0, 0.9],
    "trials": 5,
    "patience": 1.5,
    "goals": [0.2, 0.1],
    "step_limit": 400,
    "check_interval": 4,
}

RUN = """
import sys
from pathlib import Path
from parsity.study import Study
sys.exit(Study.open(Path(sys.argv[1])).run(
    executor=sys.argv[2], workers=int(sys.argv[3]) or None, checkpoint_seconds=0.05).exit_code)
"""


def make(folder: Path, **changes) -> Study:
    return Study.create(folder, StudySpec.from_document(SPEC | changes))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Study:
    study = make(tmp_path_factory.mktemp("studies") / "whole")
    assert study.run(executor="serial").exit_code == 0
    return study


def rows(study: Study):
    return [
        (r.batch_size, r.sparsity, r.goal, r.steps_to_result, r.winner, r.test_error, r.outcomes) for r in study.table()
    ]


def test_an_exported_study_goes_on_elsewhere(whole, tmp_path):
    """A part of it measured here, exported as JSON, imported there, and run to the end: the same digest."""
    part = make(tmp_path / "part", batch_sizes=[16])
    assert part.run(executor="serial").exit_code == 0
    with part.store() as store:
        export(store, "json", tmp_path / "part.json")
    (tmp_path / "elsewhere").mkdir()
    import_results(tmp_path / "part.json", tmp_path / "elsewhere" / STORE).close()
    study = make(tmp_path / "elsewhere")
    assert study.run(executor="serial").exit_code == 0
    assert study.digest() == whole.digest()
    assert study.verify() == []


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_local_workers_give_the_serial_digest(whole, tmp_path, workers):
    study = make(tmp_path / "ein Ordner für Studien")
    assert study.run(executor="local", workers=workers).exit_code == 0
    assert study.digest() == whole.digest()
    assert rows(study) == rows(whole)
    assert study.verify() == []


def test_nothing_is_left_to_do(whole):
    before = whole.store().runs()
    assert whole.run(executor="serial").how == "finished"
    assert len(whole.trials()) == 20
    assert len(whole.store().runs()) == len(before) + 1


def test_a_study_grown_equals_one_made_large(whole, tmp_path):
    small = {"batch_sizes": [128], "sparsities": [0.9], "trials": 2, "patience": 1, "goals": [0.1]}
    study = make(tmp_path / "grown", **small)
    study.run(executor="serial")
    assert study.digest() != whole.digest()
    study = make(tmp_path / "grown", **(small | {"trials": 5, "patience": 1.5}))
    study.run(executor="serial")
    study = make(tmp_path / "grown")
    study.run(executor="serial")
    assert study.digest() == whole.digest()
    assert rows(study) == rows(whole)


def test_a_changed_spec_is_refused_with_the_difference(whole):
    before = whole.digest()
    with pytest.raises(UsageError, match="seed: 0 -> 1"):
        make(whole.folder, seed=1)
    with pytest.raises(UsageError, match="trials"):
        make(whole.folder, trials=3)
    assert whole.digest() == before


@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("executor", ["serial", "local"])
def test_killed_drivers_lose_nothing(whole, tmp_path, executor, kills):
    study = make(tmp_path / "killed")
    chance = random.Random(kills)
    command = [sys.executable, "-c", RUN, str(study.folder), executor, "2" if executor == "local" else "0"]
    killed, seen = 0, set()
    while True:
        child = subprocess.Popen(command)
        if killed < kills:
            time.sleep(1.5 + 2.5 * chance.random())
            child.kill()
        code = child.wait()
        now = {(t.batch_size, t.sparsity, t.result.number) for t in study.trials()}
        assert seen <= now
        seen = now
        if code == 0:
            break
        assert code == -signal.SIGKILL
        killed += 1
    assert killed > 0
    assert study.digest() == whole.digest()
    assert len(study.trials()) == 20
    assert study.verify() == []


def children(pid: int) -> list[int]:
    """Worker processes of a driver, by the kernel's own list."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_text()
        except OSError:
            continue
        if int(fields[1]) == pid and "spawn_main" in command:
            found.append(int(path.parent.name))
    return found


def test_killed_workers_are_replaced(whole, tmp_path):
    study = make(tmp_path / "workers")
    driver = subprocess.Popen([sys.executable, "-c", RUN, str(study.folder), "local", "2"])
    killed = 0
    while driver.poll() is None:
        time.sleep(1.7)
        for worker in children(driver.pid)[:1]:
            if killed < 3:
                os.kill(worker, signal.SIGKILL)
                killed += 1
    assert driver.returncode == 0
    assert killed > 0
    assert study.digest() == whole.digest()


@pytest.mark.parametrize("executor", ["serial", "local"])
def test_sigterm_leaves_checkpoints_and_ends(whole, tmp_path, executor):
    number = signal.SIGTERM
    study = make(tmp_path / "stopped")
    driver = subprocess.Popen(
        [sys.executable, "-c", RUN, str(study.folder), executor, "2" if executor == "local" else "0"]
    )
    while study.driver is None and driver.poll() is None:
        time.sleep(0.05)
    while driver.poll() is None and not list(study.folder.glob("checkpoints/*.race")):
        time.sleep(0.02)
    driver.send_signal(number)
    assert driver.wait(timeout=30) == 128 + number
    assert study.driver is None
    assert study.run(executor="serial").exit_code == 0
    assert study.digest() == whole.digest()
    assert not list(study.folder.glob("checkpoints/*"))


def test_a_second_driver_is_refused(tmp_path):
    study = make(tmp_path / "busy", trials=30, goals=[0.0])
    driver = subprocess.Popen([sys.executable, "-c", RUN, str(study.folder), "serial", "0"])
    try:
        while study.driver is None:
            time.sleep(0.05)
        with pytest.raises(BusyError, match=f"process {driver.pid}"):
            study.run(executor="serial")
        with pytest.raises(BusyError):
            make(study.folder, trials=31)
        assert study.table() is not None
    finally:
        driver.kill()
        driver.wait()


def test_a_stopped_worker_is_replaced(whole, tmp_path):
    """SIGSTOP is silence: after a while its task goes to another, and what it would have said is not waited for."""
    from parsity.study.driver import Driver
    from parsity.study.executors import LocalExecutor
    from parsity.study.tasks import Setting

    study = make(tmp_path / "silent")
    stopped = []

    def watch(driver: Driver) -> None:
        if not stopped and driver.running:
            worker = next(one for one in driver.executor._crew if one.task is not None)
            os.kill(worker.process.pid, signal.SIGSTOP)
            worker.heard -= 600  # as if it had been silent for ten minutes
            stopped.append(worker.process.pid)

    with study.store(writable=True) as store:
        spec = study.spec
        setting = Setting(spec=spec.to_json(), folder=study.folder, checkpoint_seconds=0.05)
        with LocalExecutor(setting, workers=2, silence=600.0) as executor:
            run = store.begin_run({})
            assert Driver(store, spec, setting, executor, run=run, watch=watch).drive() == "finished"
    assert stopped
    assert study.digest() == whole.digest()


def test_a_stopped_driver_does_not_take_its_workers_for_hung(tmp_path):
    """After Ctrl-Z and ten minutes, all workers seem to have been silent: it is the driver that did not listen."""
    study, moved, crew = make(tmp_path / "stopped", trials=2), [], set()

    def watch(driver):
        executor = driver.executor
        crew.update(place.process for place in executor.crew)
        if not moved and driver.running:
            executor._listened -= 700  # as if all this had been ten minutes ago
            for worker in executor._crew:
                worker.heard -= 700
            moved.append(True)

    assert study.run(executor="local", workers=2, checkpoint_seconds=0.05, watch=watch).exit_code == 0
    assert moved
    assert len(crew) == 2


def test_hopeless_trials_are_set_aside_by_name(tmp_path, monkeypatch, caplog):
    (tmp_path / "deadly.py").write_text(
        "import os, signal\nfrom parsity.models import DigitsCNN\n"
        "def make():\n    if os.environ.get('DEADLY'): os.kill(os.getpid(), signal.SIGKILL)\n    return DigitsCNN()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEADLY", "1")
    workload = {"data": "digits", "network": "deadly:make", "optimiser": "momentum", "schedule": "constant"}
    changes = {"workload": workload, "batch_sizes": [64], "sparsities": [0.0], "trials": 2, "goals": [0.2]}
    study = make(tmp_path / "study", **changes)
    ended = study.run(executor="local", workers=1)
    assert ended.exit_code == 3
    assert {aside.number for aside in ended.set_aside} == {1, 2}
    assert all("SIGKILL" in aside.reason and aside.attempts == 4 for aside in ended.set_aside)
    assert "set aside after 4 tries" in caplog.text
    # What was set aside can be measured later, when the reason has gone.
    monkeypatch.delenv("DEADLY")
    make(study.folder, **(changes | {"trials": 3}))
    assert {t.result.number for t in study.trials()} == set()


@pytest.mark.parametrize("executor", ["serial", "local"])
def test_cells_that_use_their_passes_up_are_left_and_gone_on_with(whole, tmp_path, executor):
    study = make(tmp_path / "left")
    ended = study.run(executor=executor, passes=0.4)
    assert (ended.how, ended.exit_code) == ("finished", 0)
    left = {piece.cell for piece in ended.left}
    finished = {(state.batch_size, state.sparsity) for state in study.state() if state.finished}
    assert left
    assert left.isdisjoint(finished)
    assert left | finished == {(16, 0.0), (16, 0.9), (128, 0.0), (128, 0.9)}
    assert all(piece.step * piece.cell[0] >= 0.4 * 1455 for piece in ended.left)
    # What is left goes on from its checkpoint, or is left again almost at once; the table is the same in the end.
    again = study.run(executor=executor, passes=0.4)
    assert {piece.cell for piece in again.left} <= left
    assert study.run(executor=executor).left == ()
    assert study.digest() == whole.digest()
    assert study.verify() == []


def test_a_mask_that_cuts_a_layer_off_is_warned_of_once(tmp_path, caplog):
    changes = {"criterion": "magnitude", "sparsities": [0.5, 0.9], "trials": 2, "goals": [0.2], "step_limit": 8}
    assert make(tmp_path / "study", **changes).run(executor="local", workers=1).exit_code == 0
    warnings = [record.getMessage() for record in caplog.records if "no path" in record.getMessage()]
    assert len(warnings) == 1
    assert warnings[0].startswith("sparsity 0.9: the mask of trial 1 leaves no path through")
    assert "linear" in warnings[0]


def test_only_the_last_pieces_are_cut():
    pieces = [Piece((2, 0.0), tuple(range(1, 17)), 100.0), Piece((8, 0.0), tuple(range(1, 17)), 90.0)]
    assert cut(pieces[0], pieces[1:], 1) == [pieces[0]]
    assert len(cut(pieces[0], [pieces[0]], 2)) == 1
    (first, second) = cut(pieces[1], [], 2)
    assert sorted(first.trials + second.trials) == list(range(1, 17))
    assert first.seconds + second.seconds == 90.0
    assert cut(Piece((2, 0.0), (1, 2), 9.0, resumed=True), [], 2)[0].trials == (1, 2)


def test_pieces_are_cut_in_halves_of_a_share_or_in_single_trials():
    every = tuple(range(1, 101))
    waiting = [Piece((2**place, 0.0), every, 100.0) for place in range(15)]
    # 16 pieces of 100 s for 64 workers: a share is 25 s, half of it 12.5 s.
    parts = cut(Piece((2, 0.9), every, 100.0), waiting, 64)
    assert [part.seconds for part in parts] == [pytest.approx(100 * len(part.trials) / 100) for part in parts]
    assert len(parts) == 8
    assert max(part.seconds for part in parts) <= 13
    assert sorted(number for part in parts for number in part.trials) == list(every)
    # For 256 workers that would be 3 trials each: then each is one.
    assert len(cut(Piece((2, 0.9), every, 100.0), waiting, 256)) == 100
    assert len(cut(Piece((2, 0.9), every, 100.0), [], 3)) == 3


@pytest.mark.parametrize(
    "trials", [(1,), (1, 2), (1, 2, 3), (1, 3, 5, 7), (1, 2, 5, 9, 13, 14), tuple(range(2, 101, 2))]
)
def test_trial_numbers_in_short(trials):
    assert from_ranges(ranges(trials)) == trials
    assert len(ranges(trials)) < 30


def test_a_checkpoints_name_is_a_files_however_many_trials():
    """More patience makes an irregular half of the trials due again."""
    for count in (100, 200, 700, 65_536):
        trials = tuple(sorted(random.Random(count).sample(range(1, count + 1), count // 2)))
        name = checkpoint_path(Path(), (1_048_576, 1 / 3), trials).name
        assert len(f".{name}.older.abcdefgh") <= 255
        if count <= 700:
            assert from_ranges(name.removesuffix(".race").split(" ")[2]) == trials
    assert checkpoint_path(Path(), (2, 1 / 3), (1,)) != checkpoint_path(Path(), (2, 0.333333), (1,))
    assert checkpoint_path(Path(), (2, 0.0), (1, 2, 3)).name == "2 0 1-3(1).race"


def test_what_a_kill_left_is_found_or_cleared_away(whole, tmp_path):
    from parsity.study.costs import Costs
    from parsity.study.planning import pieces_left, tidy

    study = make(tmp_path / "s")
    folder = study.folder / "checkpoints"
    folder.mkdir()
    for name in ("16 0 1-3(1).race.older", "128 0.9 9.race", ".16 0 4.race.xyz", "of mine.txt"):
        (folder / name).touch()
    with study.store() as store:
        tidy(store, study.folder)
        pieces = pieces_left(store, Costs(study.spec), study.folder)
    assert sorted(path.name for path in folder.iterdir()) == ["16 0 1-3(1).race.older", "of mine.txt"]
    assert [(piece.cell, piece.trials) for piece in pieces if piece.resumed] == [((16, 0.0), (1, 2, 3))]


def test_ctrl_c_while_workers_are_being_born(tmp_path):
    """They get it too, before they can say that they ignore it."""
    study = make(tmp_path / "early")
    driver = subprocess.Popen(
        [sys.executable, "-c", RUN, str(study.folder), "local", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while driver.poll() is None and len(children(driver.pid)) < 2:
        time.sleep(0.01)
    os.killpg(driver.pid, signal.SIGINT)
    _, said = driver.communicate(timeout=120)
    assert driver.returncode == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("leftover", [False, True])
def test_who_stopped_for_a_bound_that_never_came_goes_on(tmp_path, leftover):
    """One task claims a step nobody can beat and then dies for good; the others must not believe it in the end.

    Not even where a kill left the checkpoints of those who did.
    """
    from parsity.study.driver import Driver
    from parsity.study.executors import SerialExecutor
    from parsity.study.tasks import Failed, Reached, Setting

    changes = {"batch_sizes": [64], "sparsities": [0.0], "trials": 3, "goals": [0.2], "patience": 1}
    honest = make(tmp_path / "honest", **changes)
    honest.run(executor="serial")
    study = make(tmp_path / "study", **changes)
    left = []

    class Lying(SerialExecutor):
        """Runs trials one at a time; trial 1 boasts, then fails, whenever it is tried."""

        workers = 3

        def start(self, listen):
            def keeping(event):
                files = {path: path.read_bytes() for path in study.folder.glob("checkpoints/* [23].race")}
                listen(event)
                for path, contents in files.items():
                    path.write_bytes(contents)
                    left.append(path)

            super().start(keeping if leftover else listen)

        def wait(self, seconds):
            assert len(left) < 50, "round and round"
            task = self._task
            if task is not None and 1 in task.trials:
                self._task = None
                self._listen(Reached(task=task.number, goal=0.2, step=4))
                self._listen(Failed(task=task.number, reason="boasted"))
            else:
                super().wait(seconds)

    with study.store(writable=True) as store:
        spec = study.spec
        executor = Lying(Setting(spec=spec.to_json(), folder=study.folder, checkpoint_seconds=0))
        assert Driver(store, spec, executor._setting, executor, run=store.begin_run({})).drive() == "finished"
        assert {aside.number for aside in store.set_asides()} == {1}
        told = {trial.result.number: trial.result.outcomes[0.2] for trial in store.trials()}
    assert bool(left) == leftover
    true = {trial.result.number: trial.result.outcomes[0.2] for trial in honest.trials()}
    assert set(told) == {2, 3}
    best = min((o for o in told.values() if o.status == "complete"), key=lambda o: o.step)
    assert best == min((true[n] for n in (2, 3) if true[n].status == "complete"), key=lambda o: o.step)
