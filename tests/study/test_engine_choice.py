"""The engine of a cell under "auto": chosen once, noted before its first result, and never another afterwards."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from parsity.engines import Calibrator
from parsity.errors import UsageError
from parsity.results import EngineChoice
from parsity.study import STORE, Store, Study, StudySpec

SPEC = {
    "workload": "digits",
    "batch_sizes": [16, 32],
    "sparsities": [0.0],
    "trials": 2,
    "patience": 1,
    "goals": [0.01],
    "step_limit": 8,
    "check_interval": 4,
}
NAMES = ("traced", "plain")  # there without a compiler, too


@pytest.fixture
def finds(monkeypatch):
    """Have every calibration find what a function of the cell says."""

    def set_to(engine_of):
        def choose(self, *, batch_size, sparsity, **rest):
            seconds = {"traced": 1.0, "plain": 2.0}
            return EngineChoice(engine=engine_of(batch_size, sparsity), how="measured", seconds=seconds, images=16)

        monkeypatch.setattr(Calibrator, "choose", choose)

    return set_to


def make(folder: Path, **changes) -> Study:
    return Study.create(folder, StudySpec.from_document(SPEC | changes))


def engines(study: Study) -> dict[tuple[int, float], set[str]]:
    found: dict[tuple[int, float], set[str]] = {}
    for trial in study.trials():
        found.setdefault((trial.batch_size, trial.sparsity), set()).add(trial.engine)
    return found


def test_each_cell_has_the_engine_that_was_chosen_for_it(tmp_path, finds):
    finds(lambda batch_size, sparsity: NAMES[batch_size > 16])
    study = make(tmp_path / "s")
    assert study.run(executor="serial").exit_code == 0
    assert engines(study) == {(b, s): {NAMES[b > 16]} for b in (16, 32) for s in (0.0,)}
    with study.store() as store:
        noted = store.engines()
        assert {key: one.engine for key, one in noted.items()} == {key: min(e) for key, e in engines(study).items()}
        assert all(one.how == "measured" and one.seconds == {"traced": 1.0, "plain": 2.0} for one in noted.values())
        assert store.overview().engines == noted
    assert study.verify() == []


def test_a_study_that_goes_on_keeps_the_engines_of_its_cells(tmp_path, finds):
    finds(lambda batch_size, sparsity: "traced")
    study = make(tmp_path / "s", batch_sizes=[16])
    assert study.run(executor="serial").exit_code == 0
    finds(lambda batch_size, sparsity: "plain")
    study = make(tmp_path / "s", trials=4)
    assert study.run(executor="serial").exit_code == 0
    assert engines(study) == {(b, s): {NAMES[b > 16]} for b in (16, 32) for s in (0.0,)}


def test_a_choice_holds_from_before_the_first_result(tmp_path, finds, monkeypatch):
    """Killed between the two: the next driver does not choose again, though it would choose another."""
    finds(lambda batch_size, sparsity: "plain")
    study = make(tmp_path / "s")
    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch:
        patch.setattr(Store, "add", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        study.run(executor="serial")
    with study.store() as store:
        assert len(store.engines()) == 1
        assert not any(state.measured for state in store.state())
        (first,) = store.engines()
    finds(lambda batch_size, sparsity: "traced")
    assert study.run(executor="serial").exit_code == 0
    assert {key: min(names) for key, names in engines(study).items()} == {
        (b, s): "plain" if (b, s) == first else "traced" for b in (16, 32) for s in (0.0,)
    }


def test_workers_that_share_a_cell_share_its_engine(tmp_path):
    """As it is measured; and whatever it is, a study anew has the same digest."""
    studies = [make(tmp_path / name, batch_sizes=[16], sparsities=[0.9], trials=4) for name in ("local", "serial")]
    assert studies[0].run(executor="local", workers=2).exit_code == 0
    assert studies[1].run(executor="serial").exit_code == 0
    assert all(len(names) == 1 for study in studies for names in engines(study).values())
    assert engines(studies[0]) == engines(studies[1])  # remembered on this machine
    assert studies[0].digest() == studies[1].digest()
    with studies[1].store() as store:
        assert {one.how for one in store.engines().values()} <= {"remembered", "given"}


def test_an_engine_that_the_spec_names_is_not_chosen(tmp_path, finds):
    finds(lambda batch_size, sparsity: pytest.fail("nobody asked"))
    study = make(tmp_path / "s", engine="plain", batch_sizes=[16])
    assert study.run(executor="serial").exit_code == 0
    assert engines(study) == {(16, 0.0): {"plain"}}


def test_results_of_another_engine_are_refused(tmp_path, finds):
    finds(lambda batch_size, sparsity: "traced")
    study = make(tmp_path / "s", batch_sizes=[16])
    study.run(executor="serial")
    study = make(tmp_path / "s", batch_sizes=[16], trials=3)
    (one, *_) = study.trials()
    before = study.digest()
    with study.store(writable=True) as store:
        late = [type(one.result)(**{**vars(one.result), "number": 3})]
        how = {"run": 1, "patience": 1.0, "goals": [0.01], "test": "certified"}
        with pytest.raises(UsageError, match="this cell's engine is 'traced'"):
            store.add(16, 0.0, late, engine="plain", **how)
        with pytest.raises(UsageError, match="'plain'"):
            store.choose(16, 0.0, EngineChoice(engine="plain", how="measured"))
        store.choose(16, 0.0, EngineChoice(engine="traced", how="measured"))
        store.add(16, 0.0, late, engine="traced", **how)
    assert study.digest() != before
    assert study.verify() == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("UPDATE choice SET engine = 'plain'", "choices"),
        ("DELETE FROM choice WHERE cell = 1", "choices"),
        ("UPDATE pace SET seconds = seconds / 2", "paces"),
        ("DELETE FROM pace WHERE number = (SELECT max(number) FROM pace)", "paces"),
    ],
)
def test_damage_to_the_notes_is_found(tmp_path, finds, change, where):
    finds(lambda batch_size, sparsity: "traced")
    study = make(tmp_path / "s", batch_sizes=[16])
    assert study.run(executor="serial").exit_code == 0
    assert study.verify() == []
    raw = sqlite3.connect(study.folder / STORE)
    raw.execute(change)
    raw.commit()
    raw.close()
    assert where in {damage.where for damage in study.verify()}


def test_what_steps_took_is_kept_with_each_result(tmp_path, finds):
    finds(lambda batch_size, sparsity: "traced")
    study = make(tmp_path / "s")
    assert study.run(executor="serial").exit_code == 0
    for trial in study.trials():
        result = trial.result
        assert result.timed_steps == result.steps
        # The median of all calls; their sum, goal tests included, is more.
        assert 0 < result.step_seconds * result.steps < 20 * result.seconds
