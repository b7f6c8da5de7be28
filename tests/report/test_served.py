"""A served page in a browser: it keeps up with its study, and keeps the reader's place."""

import shutil
import threading

import pytest

from parsity.cli import serving
from parsity.cli.serving import Served, Server
from parsity.study import STORE, Store


@pytest.fixture
def served(demo, tmp_path, monkeypatch):
    """The demo's study with one cell less, its address, and what brings the last cell."""
    monkeypatch.setattr(serving, "REST", 0.0)
    with Store.open(demo / STORE) as whole:
        spec, identity, cells = whole.spec, whole.identity, whole.cells()
    folder = tmp_path / "served"
    folder.mkdir()
    with Store.create(folder / STORE, spec=spec, identity=identity) as store:
        run = store.begin_run({})
        for cell in cells[:-1]:
            store.add(
                *(cell.batch_size, cell.sparsity, cell.trials),
                run=run,
                patience=4,
                goals=cell.goals,
                engine="plain",
                test="certified",
            )
    server = Server(Served([folder]), 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.address, lambda: shutil.copy(demo / STORE, folder / STORE)
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_keeps_up_with_the_study_and_the_place_of_its_reader(browser, served):
    address, finish = served
    browser.js("try { localStorage.clear(); } catch {}")
    browser.open(address)
    browser.until("!document.querySelector('#now').hidden")
    assert "20 of 24 trials, 5 of 6 cells" in browser.js("document.querySelector('#now').innerText")
    rows = "[...document.querySelectorAll('#now tbody th')].map((cell) => cell.innerText)"
    assert browser.js(rows) == ["dense", "50 % sparse"]
    assert browser.js("document.querySelector('[data-role=live]').innerText") == "up to date"
    # A curve hidden, another view, something unfolded, and the reader far down.
    browser.click("[data-chart=curves] .legendtoggle[aria-label^='50']")
    browser.click(".choice label:nth-child(2)")
    browser.js("document.querySelector('details').open = true")
    tables = "document.querySelector('#tables-0')"
    browser.js(f"{tables}.scrollIntoView({{ behavior: 'instant' }}); scrollBy({{ top: 40, behavior: 'instant' }})")
    place = f"{tables}.getBoundingClientRect().top"
    traces = "document.querySelector('[data-chart=curves]').data.filter((trace) => trace.legendgroup === 's1')"
    hidden = f"{traces}.map((trace) => trace.visible)"
    before = browser.js(place)
    browser.until(f"{hidden}.every((one) => one === 'legendonly')")
    browser.js("window.old = true")
    finish()
    browser.until("window.old === undefined && document.documentElement?.dataset.ready === 'yes'")
    assert abs(browser.js(place) - before) <= 2
    assert browser.js(f"{hidden}.length > 0 && {hidden}.every((one) => one === 'legendonly')")
    assert browser.js("document.querySelector('[data-role=view][value=\"1\"]').checked")
    assert browser.js("document.querySelector('details').open")
    browser.until("document.querySelector('[data-role=live]').innerText === 'up to date'")
    assert browser.js("document.querySelector('#now').hidden")
    assert browser.problems == []
    assert {request.partition("?")[0] for request in browser.requests if request.startswith("http")} <= {
        address,
        f"{address}state.json",
    }
