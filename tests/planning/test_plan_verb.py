"""``parsity plan`` and the report's section: what they print, draw and refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from known_truth import TRUTH, step_times
from matplotlib.figure import Figure

from parsity.cli import main
from parsity.planning import make_plan, measured_goals, spoken
from parsity.report.figures.time_to_result import _time_axis
from parsity.results import Complete
from parsity.study import STORE, Store, StudySpec

GOAL = 0.04


def make_study(folder: Path) -> Path:
    """Steps of 2000 / B + 20 and three times as many, measured by five trials each."""
    from parsity.results import TrialResult

    document = StudySpec(
        workload="digits", goals=[GOAL], trials=5, patience="inf", batch_sizes=[4, 16, 64, 256], sparsities=[0, 0.9]
    ).document()
    folder.mkdir(parents=True)
    with Store.create(folder / STORE, spec=document, identity=StudySpec(**document).identity) as store:
        run = store.begin_run({"started": "2026-01-02T03:04:05+00:00", "command": ["parsity", "run"]})
        for sparsity, factor in ((0.0, 1), (0.9, 3)):
            for batch in (4, 16, 64, 256):
                least = factor * (2000 // batch + 20)
                trials = [
                    TrialResult(
                        number=number,
                        metaparameters={"learning_rate": 10.0**-number, "momentum": 0.9},
                        outcomes={GOAL: Complete(least + number * 3, least + number * 3 - 2)},
                        steps=least + number * 3,
                        images_looked_at=10,
                        seconds=0.1,
                        test_errors={},
                    )
                    for number in range(1, 6)
                ]
                store.add(
                    *(batch, sparsity, trials),
                    run=run,
                    patience=float("inf"),
                    goals=[GOAL],
                    engine="plain",
                    test="certified",
                )
        store.end_run(run, "finished")
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("plan") / "digits")


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("times") / "times.json"
    known = step_times(replace(TRUTH, cores=4), workers=(1, 2, 4))
    replace(known, workload={**known.workload, "data": "digits", "network": "digits-cnn"}).write(path)
    return path


def test_the_plan_in_words(study: Path, times: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", str(study), "--times", str(times), "--deadline", "1min", "--budget", "1core-hour"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "how many workers, on the machine measured" in said
    assert "cheapest in time, 60 s" in said
    assert "fastest in budget" in said
    assert "100% likely" in said
    assert "sparsity 0.9: time and cost to goal 0.04 against workers" in said
    assert "share the machine that was measured: 4 cores" in said


def test_the_plan_as_json_is_the_plan(study: Path, times: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from parsity.cli.measured import measured_study
    from parsity.results import read_step_times

    cluster = ["--bandwidth", "10Gbit", "--latency", "20us", "--device-speed", "50x"]
    assert main(["plan", str(study), "--times", str(times), *cluster, "--workers", "1,4-6", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["plans"]
    assert found["cluster"]["device_speed"] == 50
    assert sorted({point["workers"] for point in found["points"]}) == [1, 4, 5, 6]
    assert found["errors"]["held_out"]["median"] < 1e-6
    measured = measured_study(study)
    assert measured_goals([measured]) == (GOAL,)
    plan = make_plan(measured, GOAL, read_step_times(times))
    assert main(["plan", str(study), "--times", str(times), "--json"]) == 0
    (again,) = json.loads(capsys.readouterr().out)["plans"]
    values = [point.seconds.value for line in plan.lines for point in line.points]
    assert [point["seconds"]["value"] for point in again["points"]] == pytest.approx(values)


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_the_figure(study: Path, times: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"plan.{form}"
    assert main(["plan", str(study), "--times", str(times), "--figure", str(path), "--deadline", "5s"]) == 0
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[form]
    assert path.read_bytes().startswith(begins)
    if form == "svg":
        text = path.read_text()
        assert text.count('id="time"') >= 4 or text.count('id="time') >= 4  # two sparsities in two panels
        assert 'id="limit' in text


def test_times_below_a_millisecond_have_ticks() -> None:
    panel = Figure().subplots()
    _time_axis(panel, (3e-5, 4e-2))
    assert [spoken(tick) for tick in panel.get_yticks()] == ["50 us", "200 us", "500 us", "2 ms", "5 ms", "20 ms"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--times FILE is missing: `parsity scale --output FILE` measures step times and makes it"),
        (["--times", "none.json"], "none.json: No such file"),
        (["--times", "TIMES", "--workers", "0"], "--workers '0': it must be whole numbers from 1 up"),
        (["--times", "TIMES", "--workers", "1,x"], "--workers '1,x'"),
        (["--times", "TIMES", "--latency", "20"], "--latency '20': it must be a time like 20us"),
        (["--times", "TIMES", "--device-speed", "0x"], "--device-speed '0x': it must be a factor"),
        (["--times", "TIMES", "--deadline", "soon"], "--deadline 'soon'"),
        (["--times", "TIMES", "--goal", "0.5"], "--goal 0.5: digits has 0.04"),
        (["--times", "TIMES", "--figure", "x.gif"], "--figure x.gif: its name must end in .svg, .pdf, .png"),
        (["--times", "TIMES", "--workers", "1024"], "no batch size measured has an image for each of 1,024 workers"),
    ],
)
def test_what_cannot_be_is_one_line(
    study: Path, times: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(study), *[str(times) if word == "TIMES" else word for word in words]]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_report_tells_how_many_workers(study: Path, times: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert main(["report", str(study), "--times", str(times), "--output", str(path)]) == 0
    text = path.read_text()
    assert 'id="workers-0"' in text
    assert "How many workers to error 0.04" in text
    assert "What this takes for granted" in text
    assert "--times" in text  # the command that writes it again
    assert main(["report", str(study), "--output", str(path)]) == 0
    assert 'id="workers-0"' not in path.read_text()
