"""A rank that dies, stops or errs ends the job on all ranks, with a name and without a hang."""

from __future__ import annotations

import json
import multiprocessing
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rank_jobs import Doomed, Listening, Mistaken

from parsity.errors import ParsityError, UsageError
from parsity.parallel import LostRankError, launch, train
from parsity.parallel.launching import insisting

pytestmark = pytest.mark.xdist_group("ranks")


def test_a_rank_killed_in_the_middle_of_a_step_ends_all_and_the_job_is_tried_again(tmp_path):
    said = []

    def attempt():
        return launch(Doomed(rank=1, once=tmp_path / "met"), workers=3, say=said.append)

    with pytest.raises(
        LostRankError, match=r"^rank 1 of 3 ended: signal SIGKILL \(killed, or out of memory\)"
    ) as caught:
        insisting(attempt, retries=0)
    assert caught.value.exit_code == 75
    assert set(caught.value.said) == {0, 2}
    for rank, words in caught.value.said.items():
        assert words.startswith(f"rank {rank} of 3: another rank was lost (")
    (tmp_path / "met").unlink()
    assert insisting(attempt, retries=1, say=said.append) == (200, 2)
    assert len(said) == 1
    assert said[0].endswith("; trying again (1 of 1)")
    assert not multiprocessing.active_children()


def test_a_rank_that_falls_silent_is_lost_after_a_while():
    with pytest.raises(LostRankError, match=r"^rank 0 of 2 gave no sign of life") as caught:
        launch(Doomed(rank=0, fate=signal.SIGSTOP), workers=2, timeout=3, grace=0.5)
    assert set(caught.value.said) == {1}


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("usage", UsageError, "^rank 1 does not like it$"),
        ("bug", ParsityError, r"(?s)^rank 1 of 2 failed:\nTraceback .*ValueError: a bug"),
        ("other weights", UsageError, "^rank 1 of 2: it does not train what rank 0 trains: workload, data and cell: "),
    ],
)
def test_an_error_of_one_rank_is_that_of_all(how, kind, message):
    with pytest.raises(kind, match=message) as caught:
        launch(Mistaken(how), workers=2)
    assert not isinstance(caught.value, LostRankError)


def test_what_cannot_go_to_another_process_is_refused():
    from rank_jobs import steady

    work = steady("digits-cnn", "sgd").with_(network=lambda: None)
    with pytest.raises(UsageError, match=r"cannot be sent to another process .* import path"):
        train(work, 8, workers=2)
    with pytest.raises(UsageError, match="workers 0: it must be at least 1"):
        train("digits", 8, workers=0)


def test_what_the_starter_sends_comes_to_all_ranks_at_the_same_moment():
    letters, said = [(0.1, 40), None, (0.2, 16)], []
    left = iter(letters)

    def ask() -> list[object]:
        return [letter for letter in [next(left, "nothing")] if letter != "nothing"]

    first, second = launch(Listening(3), workers=2, ask=ask, say=said.append)
    assert [letter for _, letter in first] == letters
    assert first == second
    assert said == [("heard", letter) for letter in letters]


STARTER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from rank_jobs import Enduring
from parsity.parallel import launch
launch(Enduring(), workers=2, say=lambda pids: print(json.dumps(pids), flush=True))
"""


def test_ranks_end_when_their_starter_is_killed():
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(Path(__file__).parent)], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    pids = json.loads(starter.stdout.readline())
    assert len(pids) == 2
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    starter.kill()
    starter.communicate(timeout=60)
    deadline = time.monotonic() + 20
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"{left} are still there"
        time.sleep(0.05)
