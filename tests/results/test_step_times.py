"""Step times survive their file, and a file that is not one is refused in a line."""

import json
from pathlib import Path

import pytest

from parsity.errors import UsageError
from parsity.results import StepTime, StepTimes, read_step_times

ROW = StepTime(
    slice_size=16,
    workers=2,
    sparsity=0.9,
    compute=2e-3,
    exchange=1e-3,
    low=2.5e-3,
    high=4e-3,
    bytes_sent=2496,
    steps=20,
)
TIMES = StepTimes(
    workload={"data": "digits", "network": "digits-cnn", "optimiser": "momentum", "schedule": "constant"},
    engine="native",
    machine={"cores": 2},
    parameters=62346,
    rows=(ROW,),
)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    TIMES.write(tmp_path / "times.json")
    assert read_step_times(tmp_path / "times.json") == TIMES
    assert ROW.seconds == pytest.approx(3e-3)
    assert ROW.batch_size == 32


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda tree: tree.update(format="other"), "not a file of step times"),
        (lambda tree: tree.pop("engine"), "'engine' is missing"),
        (lambda tree: tree["rows"][0].pop("workers"), "'workers' is missing"),
        (lambda tree: tree["rows"][0].update(workers=0), "'workers' is 0; allowed are whole numbers from 1 up"),
        (lambda tree: tree["rows"][0].update(compute="fast"), "'compute' is 'fast'; allowed are numbers from 0 up"),
        (lambda tree: tree["rows"][0].update(exchange=-1), "'exchange' is -1"),
        (lambda tree: tree.update(rows={}), "'rows' must be a list"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, spoil, said: str) -> None:
    path = tmp_path / "times.json"
    TIMES.write(path)
    tree = json.loads(path.read_text())
    spoil(tree)
    path.write_text(json.dumps(tree))
    with pytest.raises(UsageError, match=said) as refusal:
        read_step_times(path)
    assert str(path) in str(refusal.value)


def test_a_file_that_is_not_there_or_not_json(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_step_times(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        read_step_times(tmp_path / "cut.json")
