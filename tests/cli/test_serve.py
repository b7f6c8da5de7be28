"""`parsity serve`: what it tells, to whom, and what it refuses."""

import contextlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading

import pytest

from parsity.cli import main, serving
from parsity.cli.serving import Served, Server
from parsity.study import STORE

KEYS = [(8, 0.0), (8, 0.9), (32, 0.0), (32, 0.9)]


@contextlib.contextmanager
def serving_of(*folders, **known):
    """A server of these studies, and a way to ask it: method, path, headers -> status, headers, body."""
    server = Server(Served(folders, **known), 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def ask(path="/", method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body.decode()

    ask.port = server.port
    try:
        yield ask
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def at_once(monkeypatch):
    """A page may be made anew as soon as its study has changed; how often it was made."""
    made = []
    make_page = serving.make_page
    monkeypatch.setattr(serving, "make_page", lambda *a, **k: made.append(k["state"]) or make_page(*a, **k))
    monkeypatch.setattr(serving, "REST", 0.0)
    return made


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_shows_the_report_and_the_state_and_writes_nothing(finished):
    before = contents(finished)
    with serving_of(finished) as ask:
        status, headers, page = ask()
        assert status == 200
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert headers["Cache-Control"] == "no-store"
        assert "Critical batch" in page and "connect-src 'self'" in page
        assert f"parsity report {finished}" in page
        state = json.loads(ask("/state.json?x=1")[2])
        assert f'"state":"{state["state"]}"' in page
        assert state["studies"][0]["finished"] and state["driver"] is False
    assert contents(finished) == before


def test_a_head_is_a_page_without_its_body(finished):
    with serving_of(finished) as ask:
        status, headers, body = ask(method="HEAD")
        assert (status, body) == (200, "")
        assert int(headers["Content-Length"]) == len(ask()[2].encode())


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "X"])
def test_nothing_but_reading_is_allowed(finished, method):
    before = contents(finished)
    with serving_of(finished) as ask:
        status, headers, _ = ask(method=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert contents(finished) == before


@pytest.mark.parametrize(
    "path",
    [
        "/study.sqlite",
        "/../study.sqlite",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/....//etc/passwd",
        "//etc/passwd",
        "/state.json/../study.sqlite",
        "/./",
        "/index.html",
        "/state.json%00",
        "file:///etc/passwd",
        "*",
    ],
)
def test_no_path_leads_to_a_file(finished, path):
    with serving_of(finished) as ask:
        status, _, body = ask(path)
        assert (status, body) == (404, "there is nothing here")


def test_it_answers_to_its_own_name_alone(finished):
    with serving_of(finished) as ask:
        for name in (f"127.0.0.1:{ask.port}", f"localhost:{ask.port}"):
            assert ask("/state.json", Host=name)[0] == 200
        for name in (
            "evil.example",
            f"evil.example:{ask.port}",
            "localhost",
            "127.0.0.1:1",
            f"[::1]:{ask.port}",
            "",
            None,
        ):
            status, _, body = ask("/state.json", Host=name)
            assert (status, body) == (403, f"this page is at http://127.0.0.1:{ask.port}/")
        assert ask("http://evil.example/")[0] == 403


def test_it_listens_on_this_machine_alone(finished):
    server = Server(Served([finished]), 0)
    with server:
        assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_page_is_made_anew_only_when_its_study_has_changed(growing, grow, at_once):
    with serving_of(growing) as ask:
        for count, key in enumerate(KEYS, start=1):
            before = json.loads(ask("/state.json")[2])["state"]
            page = ask()[2]
            assert f'"state":"{before}"' in page
            assert ask()[2] == page
            assert json.loads(ask("/state.json")[2])["state"] == before
            assert len(at_once) == count
            grow(growing, key)
            state = json.loads(ask("/state.json")[2])
            assert state["state"] != before
            assert state["studies"][0]["trials"]["measured"] == 2 * count
        assert f'"state":"{state["state"]}"' in ask()[2]
        assert len(at_once) == 5


def test_a_page_stands_for_a_while_and_the_state_says_so(growing, grow, at_once, monkeypatch):
    monkeypatch.setattr(serving, "REST", 1000.0)
    with serving_of(growing) as ask:
        page = ask()[2]
        first = json.loads(ask("/state.json")[2])
        grow(growing, *KEYS[:2])
        second = json.loads(ask("/state.json")[2])
        assert second["state"] == first["state"]  # no reason to load it again yet
        assert second["studies"][0]["trials"]["measured"] == 4  # but this is of now
        assert ask()[2] == page
        grow(growing, *KEYS[2:])
        last = json.loads(ask("/state.json")[2])
        assert last["state"] != first["state"]  # it is finished, and will not change again
        assert f'"state":"{last["state"]}"' in ask()[2]
        assert len(at_once) == 2


def test_a_study_may_come_later_and_go_for_a_while(growing, tmp_path, at_once):
    place = tmp_path / "place"
    with serving_of(place) as ask:
        status, _, page = ask()
        first = json.loads(ask("/state.json")[2])
        assert status == 503 and "there is no study yet" in page
        assert f'"state":"{first["state"]}"' in page and "there is no study yet" in first["problem"]
        shutil.copytree(growing, place)
        there = json.loads(ask("/state.json")[2])
        assert there["state"] != first["state"] and there["problem"] is None
        assert ask()[0] == 200
        (place / STORE).unlink()
        assert ask()[0] == 503
        shutil.copy(growing / STORE, place)
        assert ask()[0] == 200
        assert json.loads(ask("/state.json")[2])["problem"] is None


def test_damage_is_said_and_never_shown(damaged):
    with serving_of(damaged) as ask:
        status, _, page = ask()
        assert status == 503 and "damaged" in page and "Critical batch" not in page
        assert "damaged" in json.loads(ask("/state.json")[2])["problem"]


def test_several_studies_and_one_goal(unfinished, growing):
    with serving_of(unfinished, goal=0.1) as ask:
        assert '"goals":[0.1]' in ask()[2]
    with serving_of(unfinished, growing) as ask:
        assert "Side by side" in ask()[2]
        assert len(json.loads(ask("/state.json")[2])["studies"]) == 2


def test_a_goal_that_the_study_has_not_is_told(finished):
    with serving_of(finished, goal=0.5) as ask:
        assert "--goal 0.5: this study has 0.04" in ask()[2]


def test_a_port_that_is_taken_is_one_clear_line(finished, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", str(finished), "--port", str(port)]) == 75
    assert capsys.readouterr().err == f"parsity: --port {port}: it is taken; --port 0 takes any that is free\n"


@pytest.mark.parametrize("port", ["-1", "65536", "http", "1.5"])
def test_a_port_is_a_number(finished, capsys, port):
    with pytest.raises(SystemExit) as ended:
        main(["serve", str(finished), f"--port={port}"])
    assert ended.value.code == 2
    assert "a whole number from 0 to 65,535" in capsys.readouterr().err


@pytest.fixture
def ctrl_c():
    """Children heed SIGINT, even where these tests were started in the background and ignore it themselves."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_it_without_a_traceback(finished):
    command = [sys.executable, "-m", "parsity", "serve", str(finished), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            connection = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=30)
            connection.request("GET", "/state.json")
            assert connection.getresponse().status == 200
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert error == "Ctrl-C ends it\n"
    assert told["address"] == f"http://127.0.0.1:{told['port']}/"
