"""The tables, and how a file is recognised as a study's.

``spec`` and ``run`` only ever grow. ``trial`` holds what was measured: a row never changes; a trial that was run again,
because the study has grown, is a further row of a higher revision. Against rows that vanish, each ``cell`` carries the
number and joint digest of its trials' rows, and ``head`` how many rows the other tables have.

``choice`` says which engine a cell is computed with, written before its first result and never changed. ``pace`` says
what a training step of a trial took, and the bytes that each of several ranks sent for it; it came with version 2, and
older results have none.
"""

from __future__ import annotations

from parsity.storage import Layout

VERSION = 2

_TABLES = """
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    specs INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    run_ends INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    set_asides INTEGER NOT NULL,
    choices INTEGER NOT NULL,
    paces INTEGER NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE spec (
    revision INTEGER PRIMARY KEY,
    stored TEXT NOT NULL,
    identity TEXT NOT NULL,
    spec TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL,
    provenance TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE run_end (
    run INTEGER PRIMARY KEY REFERENCES run (id),
    ended TEXT NOT NULL,
    how TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    batch_size INTEGER NOT NULL CHECK (batch_size >= 1),
    sparsity REAL NOT NULL CHECK (sparsity >= 0 AND sparsity < 1),
    trials INTEGER NOT NULL,
    joint TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (batch_size, sparsity)
) STRICT;
CREATE TABLE trial (
    cell INTEGER NOT NULL REFERENCES cell (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    run INTEGER NOT NULL REFERENCES run (id),
    patience REAL NOT NULL,
    engine TEXT NOT NULL,
    test TEXT NOT NULL,
    steps INTEGER NOT NULL,
    images_looked_at INTEGER NOT NULL,
    seconds REAL NOT NULL,
    metaparameters TEXT NOT NULL,
    outcomes TEXT NOT NULL,
    mask TEXT,
    log TEXT,
    digest TEXT NOT NULL,
    PRIMARY KEY (cell, number, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
    cell INTEGER NOT NULL,
    number INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    entries TEXT NOT NULL,
    PRIMARY KEY (cell, number, revision),
    FOREIGN KEY (cell, number, revision) REFERENCES trial (cell, number, revision)
) STRICT;
CREATE TABLE choice (
    cell INTEGER PRIMARY KEY REFERENCES cell (id),
    engine TEXT NOT NULL,
    how TEXT NOT NULL,
    seconds TEXT NOT NULL,
    images INTEGER NOT NULL,
    noted TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE pace (
    cell INTEGER NOT NULL,
    number INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    steps INTEGER NOT NULL CHECK (steps >= 1),
    seconds REAL NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    digest TEXT NOT NULL,
    PRIMARY KEY (cell, number, revision),
    FOREIGN KEY (cell, number, revision) REFERENCES trial (cell, number, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE set_aside (
    cell INTEGER NOT NULL REFERENCES cell (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    noted TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (cell, number)
) STRICT, WITHOUT ROWID;
"""

LAYOUT = Layout("study", 0x50727379, VERSION, _TABLES)  # "Prsy"
