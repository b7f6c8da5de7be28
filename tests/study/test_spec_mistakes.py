"""Bad study files, each with its message; and that nothing but a message ever comes of one."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsity.errors import UsageError
from parsity.study import StudySpec, read_spec
from parsity.study.keys import KEYS

OWN = 'workload = { data = "mnist", network = "simple-cnn" }\ngoals = [0.02]\n'
DIGITS = 'workload = "digits"\n'
GOALS = "a list of numbers, 0 <= goal < 1, none twice"
SIZES = "a list of whole numbers from 1 to 1,048,576, none twice"

BAD = {
    "no workload": ("trials = 3", [f"workload: missing; allowed: {KEYS['workload'].allowed}"]),
    "a misspelt workload is one mistake": (
        'workload = "mnist-momentun"',
        [
            'workload: not known (found "mnist-momentun"; did you mean mnist-momentum?); '
            f"allowed: {KEYS['workload'].allowed}"
        ],
    ),
    "a number for a workload": ("workload = 3", [f"workload: not text (found 3); allowed: {KEYS['workload'].allowed}"]),
    "own workload without goals": (
        'workload = { data = "mnist", network = "simple-cnn" }',
        [f"goals: missing; allowed: {GOALS}"],
    ),
    "own workload without a network": (
        'goals = [0.1]\nworkload.data = "mnist"',
        [
            "workload.network: missing; "
            "allowed: simple-cnn, resnet-8, digits-cnn, or an import path package.module:function",
        ],
    ),
    "an unknown data set": (
        'goals = [0.1]\nworkload = { data = "mnits", network = "resnet-8" }',
        [
            'workload.data: not known (found "mnits"; did you mean mnist?); '
            "allowed: digits, mnist, fashion-mnist, cifar10, or an import path package.module:function"
        ],
    ),
    "what is no import path": (
        'goals = [0.1]\nworkload = { data = "mnist", network = "my nets:make" }',
        [
            'workload.network: not an import path (found "my nets:make"); '
            "allowed: simple-cnn, resnet-8, digits-cnn, or an import path package.module:function"
        ],
    ),
    "American spelling": (
        'goals = [0.1]\nworkload = { data = "mnist", network = "resnet-8", optimizer = "sgd" }',
        [
            "workload.optimizer: no such key (did you mean workload.optimiser?); "
            "allowed: data, network, optimiser, schedule"
        ],
    ),
    "a misspelt key": (
        f"{DIGITS}batchsizes = [2]",
        [
            "batchsizes: no such key (did you mean batch_sizes?); allowed: name, workload, goals, check_interval, "
            "step_limit, batch_sizes, sparsities, criterion, eligible, trials, patience, space, sequence, seed, "
            "device, threads, ranks, engine, test"
        ],
    ),
    "goals out of range": (
        f"{DIGITS}goals = [-0.1, 0.5, 1]",
        [f"goals[0]: too small (found -0.1); allowed: {GOALS}", f"goals[2]: too large (found 1); allowed: {GOALS}"],
    ),
    "goals that are no numbers": (
        f"{DIGITS}goals = [nan, true, '0.1']",
        [
            f"goals[0]: not finite (found nan); allowed: {GOALS}",
            f"goals[1]: not a number (found true); allowed: {GOALS}",
            f'goals[2]: not a number (found "0.1"); allowed: {GOALS}',
        ],
    ),
    "no goals": (f"{DIGITS}goals = []", [f"goals: empty (found []); allowed: {GOALS}"]),
    "batch sizes": (
        f"{DIGITS}batch_sizes = [0, 2.0, 1048577, 4, 4, true]",
        [
            f"batch_sizes[0]: too small (found 0); allowed: {SIZES}",
            f"batch_sizes[1]: not a whole number (found 2.0); allowed: {SIZES}",
            f"batch_sizes[2]: too large (found 1048577); allowed: {SIZES}",
            f"batch_sizes[4]: there twice (found 4); allowed: {SIZES}",
            f"batch_sizes[5]: not a whole number (found true); allowed: {SIZES}",
        ],
    ),
    "a batch size that is no list": (
        f"{DIGITS}batch_sizes = 64",
        [f"batch_sizes: not a list (found 64); allowed: {SIZES}"],
    ),
    "sparsities": (
        f"{DIGITS}sparsities = [0, 0.9, 1.0, 0.90, -0.0]",
        [
            "sparsities[2]: too large (found 1.0); allowed: a list of numbers, 0 <= sparsity < 1, none twice",
            "sparsities[3]: there twice (found 0.9); allowed: a list of numbers, 0 <= sparsity < 1, none twice",
            "sparsities[4]: there twice (found -0.0); allowed: a list of numbers, 0 <= sparsity < 1, none twice",
        ],
    ),
    "trials": (
        f"{DIGITS}trials = 0",
        ["trials: too small (found 0); allowed: a whole number from 1 to 65,536"],
    ),
    "patience": (
        f"{DIGITS}patience = 0.5",
        ["patience: too small (found 0.5); allowed: a number of at least 1, or inf"],
    ),
    "patience that is no number": (
        f"{DIGITS}patience = nan",
        ["patience: too small (found nan); allowed: a number of at least 1, or inf"],
    ),
    "a limit between checks": (
        f"{DIGITS}check_interval = 16\nstep_limit = 1000",
        ["step_limit: not a multiple of check_interval (found 1000); allowed: multiples of 16, such as 992 or 1008"],
    ),
    "a limit below the first check": (
        f"{DIGITS}check_interval = 16\nstep_limit = 10",
        ["step_limit: not a multiple of check_interval (found 10); allowed: multiples of 16, such as 16"],
    ),
    "an impossible range": (
        f"{DIGITS}space.learning_rate = {{ scale = 'log', low = 1, high = 0.1 }}",
        [
            'space.learning_rate: an impossible range (found {scale = "log", low = 1, high = 0.1}); '
            "allowed: 0 < low < high"
        ],
    ),
    "an infinite range": (
        f"{DIGITS}space.learning_rate = {{ scale = 'log', low = 0.1, high = inf }}",
        ["space.learning_rate.high: not finite (found inf); allowed: a finite number, above low"],
    ),
    "half a range": (
        f"{DIGITS}space.learning_rate = {{ scale = 'logarithmic', low = 0.1 }}",
        [
            "space.learning_rate.high: missing; allowed: a finite number, above low",
            'space.learning_rate.scale: not known (found "logarithmic"); allowed: log, reverse-log, linear, integer',
        ],
    ),
    "momentum of one": (
        f"{DIGITS}space.momentum = {{ scale = 'linear', low = 0.5, high = 1.0 }}",
        ["space.momentum.high: not possible for momentum (found 1.0); allowed: 0 <= momentum < 1"],
    ),
    "a fixed learning rate of nothing": (
        f"{DIGITS}space.learning_rate = 0",
        ["space.learning_rate: not possible for learning_rate (found 0); allowed: above 0"],
    ),
    "options": (
        f"{DIGITS}space.momentum.options = [0.5, 0.5, true, 'high', nan]",
        [
            "space.momentum.options[1]: there twice (found 0.5); allowed: a list of values, none twice",
            "space.momentum.options[2]: neither a number nor text (found true); "
            "allowed: a list of numbers or texts, none twice",
            'space.momentum.options[3]: not a number (found "high"); allowed: 0 <= momentum < 1',
            "space.momentum.options[4]: not finite (found nan); allowed: a list of numbers or texts, none twice",
        ],
    ),
    "a metaparameter nobody takes": (
        'workload = "mnist-sgd"\nspace.momentum = 0.9\nspace.weight_decy = 0.1',
        [
            "space.momentum: not a metaparameter that mnist-sgd takes; allowed: learning_rate, weight_decay",
            "space.weight_decy: not a metaparameter that mnist-sgd takes (did you mean weight_decay?); "
            "allowed: learning_rate, weight_decay",
        ],
    ),
    "a metaparameter that is missing": (
        'goals = [0.1]\nworkload = { data = "mnist", network = "resnet-8", schedule = "step" }\n'
        "space.drop_factor = 0.5",
        [
            "space.drop_interval: missing, for this optimiser with this schedule needs it; "
            "allowed: a range, options or a value, whole numbers of at least 1, scale integer"
        ],
    ),
    "steps that are no whole number": (
        'workload = "cifar10-sgd"\nspace.decay_steps = { scale = "linear", low = 10, high = 20.5 }',
        [
            "space.decay_steps.high: not possible for decay_steps (found 20.5); "
            "allowed: whole numbers of at least 1, scale integer",
            'space.decay_steps.scale: decay_steps is a whole number (found "linear"); allowed: integer',
        ],
    ),
    "a space that is no table": (
        f"{DIGITS}space = 3",
        [f"space: not a table (found 3); allowed: {KEYS['space'].allowed}"],
    ),
    "names": (
        f"{DIGITS}criterion = 'snipp'\neligible = 'biases'\nsequence = 'soboll'\nengine = 'trace'\ntest = 'certain'",
        [
            'criterion: not known (found "snipp"; did you mean snip?); '
            "allowed: snip, magnitude, random, grasp, synflow, or an import path package.module:function",
            'eligible: not known (found "biases"); allowed: all, weights',
            'sequence: not known (found "soboll"; did you mean sobol?); allowed: sobol, halton',
            'engine: not known (found "trace"; did you mean traced?); allowed: auto, native, traced, plain',
            'test: not known (found "certain"; did you mean certified?); allowed: certified, confident',
        ],
    ),
    "where and how": (
        f"{DIGITS}device = 'gpu'\nthreads = 0\nranks = 0\nseed = -1\nname = ''",
        [
            'name: not a line of 1 to 200 printable characters (found ""); allowed: a line of text',
            "seed: too small (found -1); allowed: a whole number from 0 to 2^62",
            'device: not known (found "gpu"); allowed: cpu, auto, cuda, cuda:0, cuda:1, ...',
            "threads: too small (found 0); allowed: a whole number from 1 to 1,024",
            "ranks: too small (found 0); allowed: a whole number from 1 to 1,024",
        ],
    ),
    "a date": (
        f"{DIGITS}trials = 2024-05-01",
        ["trials: not a whole number (found 2024-05-01); allowed: a whole number from 1 to 65,536"],
    ),
    "a key twice": (
        f"{DIGITS}trials = 1\ntrials = 2\nseed = 1",
        ["line 3, column 11: cannot overwrite a value; allowed: TOML, see https://toml.io"],
    ),
    "what is no TOML": (
        f"{DIGITS}trials = many",
        ["line 2, column 10: invalid value; allowed: TOML, see https://toml.io"],
    ),
    "an open end": ('workload = "dig', ["at its end: unterminated string; allowed: TOML, see https://toml.io"]),
    "a mixture of everything": (
        "\n".join(
            [
                "workload = 'mnist-sgd'",
                "goals = [2]",
                "batch_sizes = [3, 3]",
                "trials = true",
                "step_limit = 17",
                "learning_rate = 0.1",
                "[space]",
                "learning_rate = -1",
                "momentum = 0.9",
            ]
        ),
        [
            f"goals[0]: too large (found 2); allowed: {GOALS}",
            "step_limit: not a multiple of check_interval (found 17); allowed: multiples of 16, such as 16 or 32",
            f"batch_sizes[1]: there twice (found 3); allowed: {SIZES}",
            "trials: not a whole number (found true); allowed: a whole number from 1 to 65,536",
            "space.learning_rate: not possible for learning_rate (found -1); allowed: above 0",
            "space.momentum: not a metaparameter that mnist-sgd takes; allowed: learning_rate, weight_decay",
            "learning_rate: no such key (did you mean space.learning_rate?); allowed: name, workload, ",
        ],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_every_mistake_is_told_at_once(case: str, tmp_path: Path) -> None:
    text, expected = BAD[case]
    path = tmp_path / "ma étude 3.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_spec(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(expected), lines
    for line, message in zip(lines, expected, strict=True):
        # An expected message that ends in a space is the beginning of a long list.
        told = line.removeprefix(f"{path}: ")
        assert told != line
        assert told.startswith(message) if message.endswith(" ") else told == message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: cannot be read \(No such file"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory"):
        read_spec(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b'workload = "digits"\nname = "\xe9tude"\n')
    with pytest.raises(UsageError, match=r"latin\.toml: line 2: not UTF-8"):
        read_spec(path)
    path.write_text(f"trials = 1{'0' * 5000}")
    with pytest.raises(UsageError, match="beyond reading"):
        read_spec(path)
    path.write_text(f"trials = {'[' * 100_000}")
    with pytest.raises(UsageError, match=r"latin\.toml: "):
        read_spec(path)


def test_good_files_that_are_written_unusually(tmp_path: Path) -> None:
    path = tmp_path / "Zürich ☃ two.toml"
    path.write_bytes(
        b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode() + b"batch_sizes = [32, 2]\r\npatience = inf\r\n"
    )
    spec = read_spec(path)
    assert spec.name == "Zürich ☃ two"
    assert spec.batch_sizes == (2, 32)
    assert spec.patience == math.inf
    folder = tmp_path / "eine Studie"
    folder.mkdir()
    (folder / "study.toml").write_text(OWN)
    assert read_spec(folder / "study.toml").name == "eine Studie"


def test_what_cannot_be_imported_is_told_when_the_study_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_nets_of_spec.py").write_text("from parsity.optimisation import Momentum as Mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    parts = {
        "data": "nowhere_at_all:load",
        "network": "their_nets_of_spec:make",
        "optimiser": "their_nets_of_spec:Mine",
    }
    spec = StudySpec(workload=parts, goals=[0.1], criterion="math:sqroot")
    with pytest.raises(UsageError) as caught:
        spec.make_workload("study.toml")
    lines = str(caught.value).splitlines()
    assert [line.split(" ")[1] for line in lines] == ["workload.data:", "workload.network:", "criterion:"]
    assert "did you mean sqrt?" in lines[2]
    # Its own optimiser needs a momentum, which only importing it could tell.
    fine = spec.with_(workload={**parts, "data": "mnist", "network": "simple-cnn"}, criterion="snip")
    with pytest.raises(UsageError, match="needs learning_rate, momentum"):
        fine.make_workload()
    assert fine.with_(space={"momentum": 0.9}).make_workload().space.trial(1)["momentum"] == 0.9


def test_python_is_told_the_same() -> None:
    with pytest.raises(UsageError, match=r"^study: trials: too small \(found 0\)"):
        StudySpec(workload="digits", trials=0)
    with pytest.raises(UsageError, match="seed"):
        StudySpec(workload="digits").with_(seed=-1)
    with pytest.raises(UsageError, match="self: no such key"):
        StudySpec.from_document({"workload": "digits", "self": 1, "source": 2})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 70_000)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["mnist", "momentum", "linear", "a:b", "digits", "log", "inf"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["data", "network", "learning_rate", "momentum", "scale", "low", "high", "options", "x y"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
NAMES = st.sampled_from([name for name in KEYS if "." not in name]) | st.text(max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=6), st.booleans())
def test_whatever_comes_is_a_spec_or_a_usage_error(document: dict[str, object], sound: bool) -> None:
    if sound:
        document["workload"] = "cifar10-momentum"
    try:
        spec = StudySpec.from_document(document)
    except UsageError as error:
        assert all(line.startswith("study: ") and "; allowed: " in line for line in str(error).splitlines())
    else:
        assert spec.make_workload().goals == spec.goals


def test_no_torch_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('goals = [0.1]\nworkload = { data = "mnist", network = "my.nets:make" }\n')
    code = f"""
import sys
from pathlib import Path
from parsity.cli import main
from parsity.study import StudySpec, differences, json_schema, read_spec
spec = read_spec(Path({str(path)!r}))
assert spec.identity and spec.cells() and json_schema() and not differences(spec, spec)
assert StudySpec(workload="digits").make_workload().name == "digits"
assert main(["presets"]) == 0 and main(["new", "digits"]) == 0 and main(["new", "--schema"]) == 0
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
