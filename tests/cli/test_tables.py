"""How tables look: on a terminal, and elsewhere."""

import json
import math
import re

import pytest

from parsity.cli import main
from parsity.cli.tables import hanging, pointwise, print_json, print_table, short


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]


@pytest.mark.parametrize("columns", [200, 120])
@pytest.mark.parametrize("words", [["table", "--winners"], ["table", "--ratio"], ["trials"]], ids=" ".join)
def test_a_wide_terminal_shows_what_a_file_gets_with_bold_headings(words, columns, unfinished, terminal, capsys):
    assert main([words[0], str(unfinished), *words[1:]]) == 0
    expected = capsys.readouterr().out
    terminal(columns)
    assert main([words[0], str(unfinished), *words[1:]]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[1m" in shown
    assert plain(shown) == expected.splitlines()


def test_a_narrow_terminal_gets_fewer_columns_and_is_told_so(unfinished, terminal, capsys):
    terminal(80)
    assert main(["trials", str(unfinished)]) == 0
    shown = capsys.readouterr()
    assert max(map(len, plain(shown.out))) <= 80
    assert "seconds" not in shown.out
    assert "left out, as the terminal is too narrow: seconds, last miss\n" in shown.err


def test_numbers_are_never_cut_and_text_folds(terminal, capsys):
    terminal(20)
    print_table(("what", "number"), [("a very long text indeed", "1,234,567,890")], numbers=("number",))
    shown = plain(capsys.readouterr().out)
    assert "1,234,567,890" in shown[1]
    assert len(shown) == 3
    assert "".join(line[:12].strip() for line in shown[1:]).replace(" ", "") == "averylongtextindeed"


def test_what_looks_like_markup_is_text(terminal, capsys):
    for _ in range(2):
        print_table(("name",), [("[red]a[/red]",)])
        assert "[red]a[/red]" in capsys.readouterr().out
        terminal(80)


def test_wide_letters_count_twice(capsys):
    print_table(("name", "n"), [("数字", "1"), ("abcd", "2")], numbers=("n",))
    assert capsys.readouterr().out == "name  n\n数字  1\nabcd  2\n"


def test_json_has_no_numbers_that_are_none(capsys):
    print_json({"a": math.inf, 0.5: (-math.inf, [math.nan, 1.5]), "b": None})
    assert json.loads(capsys.readouterr().out) == {"a": "inf", "0.5": ["-inf", ["nan", 1.5]], "b": None}


def test_numbers_as_people_write_them():
    assert [short(value) for value in (0.0, 0.9, 0.04, 0.123456789, 2.0, math.inf)] == [
        *("0", "0.9", "0.04", "0.123456789", "2", "inf"),
    ]
    assert hanging(["0", "1,024?", "-?", "?"]) == ["0 ", "1,024?", "-?", "?"]
    column = pointwise([0.1, 0.00031623, 1.0, None, 45000, "cosine"])
    assert [text.rstrip() for text in column] == ["0.1", "0.0003162", "1", "", "45,000", "cosine"]
    assert {len(text) - text.index(".") for text in column[:2]} == {8}
    assert {len(text) - len(text.rstrip()) for text in column[2:]} == {8}
