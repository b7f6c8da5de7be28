"""One reading of the rows tells what several would."""

import pytest
from make_believe import add, best_steps, finish, make_store, measured


@pytest.fixture
def store(tmp_path):
    with make_store(tmp_path / "study.sqlite") as store:
        finish(store, store.begin_run({"host": "here"}))
        yield store


def test_it_says_what_the_single_questions_say(store):
    store.set_aside(8, 0.9, [5], "killed by signal 9", 4)
    store.grow({**store.spec, "trials": 8})
    seen = store.overview()
    assert (seen.spec, seen.identity, seen.digest) == (store.spec, store.identity, store.digest())
    assert (seen.cells, seen.table, seen.set_asides) == (store.state(), store.table(), store.set_asides())
    assert seen.runs == store.runs()


def test_costs_are_those_of_every_result_the_replaced_ones_included(store):
    def expected() -> dict[tuple[int, float], int]:
        return {(cell.batch_size, cell.sparsity): cell.image_passes for cell in store.cells()}

    once = expected()
    assert {key: spent.image_passes for key, spent in store.overview().spent.items()} == once
    assert {spent.results for spent in store.overview().spent.values()} == {6}
    store.grow({**store.spec, "patience": 4.0})
    due = store.due(2, 0.0)
    again = [measured(2, 0.0, number, 4.0, best_steps(2, 0.0, range(1, 7), store.grid.goals)) for number in due]
    add(store, 2, 0.0, again, 1, 4.0)
    more = sum(result.steps * 2 + result.images_looked_at for result in again)
    spent = store.overview().spent[2, 0.0]
    assert due
    assert (spent.results, spent.image_passes) == (6 + len(due), once[2, 0.0] + more)
