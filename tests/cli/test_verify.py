import sqlite3

from parsity.cli import main
from parsity.study import STORE, Store


def test_a_whole_study_is_counted(unfinished, say, say_json, capsys):
    with Store.open(unfinished / STORE) as store:
        digest = store.digest()
    assert say("verify", unfinished).splitlines() == [
        "all is as it was written",
        "checked  1 spec, 1 run, 4 cells, 5 results, 1 set-aside trial, and the file's pages, tables and references",
        f"digest   {digest}",
    ]
    counts = {"specs": 1, "runs": 1, "cells": 4, "results": 5, "set_asides": 1, "digest": digest}
    assert say_json("verify", unfinished) == {"file": str(unfinished / STORE), "damages": [], "checked": counts}


def test_each_damage_is_a_line(damaged, capsys, say_json):
    connection = sqlite3.connect(damaged / STORE)
    connection.execute("UPDATE trial SET seconds = 0.25 WHERE number = 3 AND cell = 4")
    connection.commit()
    connection.close()
    assert main(["verify", str(damaged)]) == 4
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "trials: trial 2 of batch size 2, sparsity 0.0 does not match its digest",
        "trials: trial 3 of batch size 64, sparsity 0.9 does not match its digest",
    ]
    assert shown.err.startswith(f"parsity: {damaged / STORE}: 2 damages; restore it from a copy")
    document = say_json("verify", damaged, code=4)
    assert [damage["where"] for damage in document["damages"]] == ["trials", "trials"]
    assert document["checked"] is None


def test_a_file_that_is_no_study_is_damaged(finished, capsys):
    (finished / STORE).write_bytes(b"once upon a time" * 100)
    assert main(["verify", str(finished)]) == 4
    assert capsys.readouterr().out.count("\n") == 1
