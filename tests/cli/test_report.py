"""`parsity report`: what it writes, what it refuses, and what it says of studies that are not whole."""

import html
import json
import re

import pytest

from parsity.cli import main
from parsity.results import Complete


def text_of(path):
    """What the page says, without its scripts and its markup."""
    text = re.sub(r"<(script|style)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def data_of(path):
    """What the page's charts are drawn from, read as strictly as JSON is meant."""
    found = re.search(r'<script type="application/json" id="parsity-data">(.*?)</script>', path.read_text(), re.DOTALL)

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(found[1], parse_constant=refuse)


def test_it_writes_one_file_and_says_where(finished, tmp_path, say):
    path = tmp_path / "page.html"
    assert say("report", finished, "--output", path) == f"{path}\n"
    text = text_of(path)
    assert path.stat().st_size < 8_000_000
    for words in ("Whether to trust it", "Critical batch", "592", "The paper's claims", "parsity report"):
        assert words in text


def test_it_may_be_written_again_over_itself_only(finished, tmp_path, say, say_json, capsys):
    path = tmp_path / "page.html"
    say("report", finished, "--output", path)
    told = say_json("report", finished, "--output", path)
    assert told == {"folders": [str(finished)], "path": str(path), "bytes": path.stat().st_size}
    other = tmp_path / "thesis.html"
    other.write_text("<html>all my work</html>")
    assert main(["report", str(finished), "--output", str(other)]) == 2
    assert "there is something else already" in capsys.readouterr().err
    assert other.read_text() == "<html>all my work</html>"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--output", "."], "this is a folder"),
        (["--output", "nowhere/page.html"], "there is no folder nowhere"),
        (["--goal", "0.5"], "--goal 0.5: this study has 0.04"),
    ],
)
def test_bad_usage_is_one_clear_line(finished, tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(finished), *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 1


def test_where_there_is_no_study_nothing_is_written(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--output", str(tmp_path / "page.html")]) == 2
    assert "there is no study here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_damage_is_never_reported_on(damaged, tmp_path):
    assert main(["report", str(damaged), "--output", str(tmp_path / "page.html")]) == 4
    assert not (tmp_path / "page.html").exists()


def test_an_unfinished_study_says_so(unfinished, tmp_path, say):
    path = tmp_path / "page.html"
    say("report", unfinished, "--output", path)
    text = text_of(path)
    assert "not finished, and nobody is at work on it" in text
    assert "1 trial was set aside" in text
    assert "killed by signal 9" in text
    assert "Whether to trust it: not yet" in text


def test_one_goal_alone(unfinished, tmp_path, say):
    path = tmp_path / "page.html"
    say("report", unfinished, "--goal", "0.1", "--output", path)
    assert data_of(path)["studies"][0]["goals"] == [0.1]
    assert "--goal 0.1" in text_of(path)


def test_a_study_with_nothing_measured_renders(make, tmp_path, say):
    path = tmp_path / "page.html"
    say("report", make(tmp_path / "empty", {}, batch_sizes=[2, 4], sparsities=[0, 0.9]), "--output", path)
    assert data_of(path)["studies"][0]["curves"] == []
    assert "nothing can be said" in text_of(path)


def test_several_studies_side_by_side(make, finished, tmp_path, say):
    cells = {(size, 0.0): {n: {0.04: Complete(4096 // size + n, 4095 // size)} for n in (1, 2, 3)} for size in (2, 64)}
    other = make(tmp_path / "other", cells, batch_sizes=[2, 64], sparsities=[0])
    path = tmp_path / "page.html"
    say("report", finished, other, "--output", path)
    assert [study["name"] for study in data_of(path)["studies"]] == ["finished", "other"]
    assert "Side by side" in text_of(path)
