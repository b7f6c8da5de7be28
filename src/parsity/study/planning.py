"""What is left to run, and in which pieces: longest cells first, those split that are more than a worker's share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parsity.study.costs import CellKey, Costs
from parsity.study.store import Store

CHECKPOINTS = "checkpoints"
SCORES = "scores"
HALF = 0.5  # of a worker's share, for one part of a cell that is more
FEW = 3  # trials of a part that had better be single
LONGEST_NAME = 200  # of 255 characters that a file may have, less those of the cell and of a temporary file


@dataclass(frozen=True)
class Piece:
    """Trials of one cell that still have to be run, and what that is expected to take."""

    cell: CellKey
    trials: tuple[int, ...]
    seconds: float
    resumed: bool = False
    """Whether there is a checkpoint of exactly these trials; such a piece is never split."""


def pieces_left(store: Store, costs: Costs, folder: Path) -> list[Piece]:
    """Everything due, the longest first; what has a checkpoint as it was cut then, and before all else."""
    saved = _saved(folder / CHECKPOINTS)
    pieces = []
    for state in store.state():
        cell = (state.batch_size, state.sparsity)
        due = set(state.due)
        for trials in saved.get(cell, []):
            if due.issuperset(trials):
                due -= set(trials)
                pieces.append(Piece(cell, trials, costs.seconds(cell, len(trials)), resumed=True))
        if due:
            pieces.append(Piece(cell, tuple(sorted(due)), costs.seconds(cell, len(due))))
    return sorted(pieces, key=lambda piece: (not piece.resumed, -piece.seconds, piece.cell))


def tidy(store: Store, folder: Path) -> None:
    """Delete what kills left behind: halves of files, and checkpoints of trials whose results are stored."""
    for part in (CHECKPOINTS, SCORES):
        for path in (folder / part).glob(".*"):
            path.unlink(missing_ok=True)
    due = {(state.batch_size, state.sparsity): set(state.due) for state in store.state()}
    for cell, pieces in _saved(folder / CHECKPOINTS).items():
        for trials in pieces:
            if not due.get(cell, set()).issuperset(trials):
                forget_checkpoint(folder, cell, trials)


def cut(piece: Piece, waiting: Sequence[Piece], workers: int) -> list[Piece]:
    """``piece`` whole, or in parts of half a worker's share where it is more than a share of all that is waiting.

    In as few parts as that takes: a cell in one piece learns of its own best at once and prepares nothing twice, and
    parts that do not all begin together run on past a bound that they have not heard of yet. Where parts would have no
    more than `FEW` trials, each trial is one: alone it is through with what nobody needs soonest. docs/planning.md
    has what this saves, simulated.
    """
    share = (piece.seconds + sum(other.seconds for other in waiting)) / workers
    if piece.resumed or piece.seconds <= share or workers == 1:
        return [piece]
    trials = len(piece.trials)
    parts = min(math.ceil(piece.seconds / (HALF * share)), workers, trials)
    if trials <= (FEW + 0.5) * parts:
        parts = min(workers, trials)
    # Dealt like cards: neighbours of the sequence lie far apart, so every part has some good trials.
    hands = [piece.trials[part::parts] for part in range(parts)]
    return [Piece(piece.cell, hand, piece.seconds * len(hand) / trials) for hand in hands]


def checkpoint_path(folder: Path, cell: CellKey, trials: Sequence[int]) -> Path:
    """Where the checkpoint of these trials lies: the name says it all, so that a later driver can cut the same way."""
    # Every digit of the sparsity: 1/3 and 0.333333 are two cells.
    sparsity = repr(float(cell[1])).removesuffix(".0")
    return folder / CHECKPOINTS / f"{cell[0]} {sparsity} {ranges(trials)}.race"


def forget_checkpoint(folder: Path, cell: CellKey, trials: Sequence[int]) -> None:
    """Delete the checkpoint of trials whose results are stored, and the older one beside it."""
    path = checkpoint_path(folder, cell, trials)
    for file in (path, path.with_name(f"{path.name}.older")):
        file.unlink(missing_ok=True)


def ranges(trials: Sequence[int]) -> str:
    """Trial numbers in short: 1-31(2) is every second one; ~ and bits where that is long; # and a digest beyond."""
    text = _ranges(trials)
    if len(text) <= LONGEST_NAME:
        return text
    bits = f"~{sum(1 << number for number in trials):x}"
    return bits if len(bits) <= LONGEST_NAME else f"#{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def from_ranges(text: str) -> tuple[int, ...]:
    """The trial numbers that `ranges` wrote; of a digest, none can be told, and `ValueError` says so."""
    if text.startswith("~"):
        bits = int(text[1:], 16)
        return tuple(number for number in range(bits.bit_length()) if bits >> number & 1)
    trials: list[int] = []
    for part in text.split(","):
        first, _, rest = part.partition("-")
        last, _, stride = rest.rstrip(")").partition("(")
        trials += range(int(first), int(last) + 1, int(stride)) if rest else [int(first)]
    return tuple(trials)


def _ranges(trials: Sequence[int]) -> str:
    parts: list[str] = []
    rest = list(trials)
    while rest:
        stride = rest[1] - rest[0] if len(rest) > 1 else 1
        run = 1
        while run < len(rest) and rest[run] - rest[run - 1] == stride:
            run += 1
        parts.append(f"{rest[0]}-{rest[run - 1]}({stride})" if run > 2 else str(rest[0]))
        del rest[: run if run > 2 else 1]
    return ",".join(parts)


def _saved(checkpoints: Path) -> dict[CellKey, list[tuple[int, ...]]]:
    """The trials of every checkpoint there is, by cell."""
    found: dict[CellKey, list[tuple[int, ...]]] = {}
    # A kill between two saves may leave the older one alone.
    for name in sorted({path.name.removesuffix(".older") for path in checkpoints.glob("*.race*")}):
        try:
            batch_size, sparsity, trials = name.removesuffix(".race").split(" ")
            cell, numbers = (int(batch_size), float(sparsity)), from_ranges(trials)
        except ValueError:
            continue  # not a file of ours
        found.setdefault(cell, []).append(numbers)
    return found
