import fcntl
import os
import re

from parsity.study import STORE, Store


def facts(text: str) -> dict[str, str]:
    """The lines of two columns."""
    return dict(re.split(r"  +", line, maxsplit=1) for line in text.split("\n\n")[0].splitlines()[1:])


def test_a_finished_study(finished, say, capsys):
    shown = say("status", finished)
    assert shown.startswith("digits: finished\n")
    found = facts(shown)
    assert found["workload"] == "digits-cnn on digits, momentum, constant"
    assert (found["cells"], found["trials"]) == ("4 of 4 finished", "12 of 12 measured")
    assert found["driver"] == "none"
    assert "left" not in found
    assert shown.splitlines()[-1].endswith("finished")
    assert capsys.readouterr().err == ""


def test_an_unfinished_study_says_what_is_left_who_was_set_aside_and_how_to_go_on(unfinished, say, say_json):
    shown = say("status", unfinished, code=3)
    assert shown.startswith("digits: unfinished\n")
    found = facts(shown)
    assert (found["cells"], found["trials"]) == ("2 of 6 finished, 2 begun", "5 of 12 measured, 6 due, 1 set aside")
    assert re.fullmatch(r"about .+ of one core \(.+ to .+\)(, .+ with \d+ workers)?", found["left"])
    assert re.search(r"^ +32 +0\.9  2 +4  killed by signal 9$", shown, re.MULTILINE)
    assert shown.splitlines()[-1].endswith("cut off")
    document = say_json("status", unfinished, code=3)
    assert document["patience"] == "inf"
    assert document["trials"] == {"planned": 12, "measured": 5, "due": 6, "set_aside": 1}
    assert [note["number"] for note in document["set_aside"]] == [2]
    expected = document["expected"]
    assert 0 < expected["low"] < expected["core_seconds"] < expected["high"]


def test_it_says_how_to_go_on_unless_somebody_is_at_work(unfinished, say, capsys):
    from parsity.cli import main

    assert main(["status", str(unfinished)]) == 3
    assert capsys.readouterr().err == f"to go on: parsity run {unfinished}\n"
    with (unfinished / "driver.pid").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(f"{os.getpid()}\n")
        held.flush()
        assert main(["status", str(unfinished)]) == 3
        shown = capsys.readouterr()
    assert f"process {os.getpid()} is at work" in shown.out
    assert shown.out.splitlines()[-1].endswith("at work")
    assert shown.err == ""


def test_what_it_cost_is_the_sum_over_all_trials(finished, say_json):
    document = say_json("status", finished)
    with Store.open(finished / STORE) as store:
        trials = store.trials()
        assert document["digest"] == store.digest()
    assert document["image_passes"] == sum(t.result.steps * t.batch_size + 1000 for t in trials)
    assert document["seconds"] == 6.0


def test_of_many_runs_the_newest_are_shown(finished, say, say_json):
    with Store.open(finished / STORE, writable=True) as store:
        for _ in range(8):
            store.end_run(store.begin_run({}), "interrupted")
    shown = say("status", finished)
    assert "the newest 5 of 9 runs" in shown
    assert [int(line.split()[0]) for line in shown.splitlines()[-5:]] == [5, 6, 7, 8, 9]
    assert len(say_json("status", finished)["runs"]) == 9


def test_a_study_of_ones_own_parts_nothing_of_which_is_measured(make, tmp_path, say):
    folder = make(tmp_path / "own", {}, workload={"data": "digits", "network": "mynets:make"}, name="mine")
    shown = say("status", folder)
    assert shown.startswith("mine: nothing measured yet\n")
    assert facts(shown)["workload"] == "mynets:make on digits, momentum, constant"
