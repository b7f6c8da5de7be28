"""A race on disk: every trial's state in one file, written now and then, there whole or not at all.

A file is a line of sha256 over the rest, a line of JSON, and the vectors behind each other. Of a pruned network only
surviving entries are kept. The file before the newest one stays beside it until the newest is whole; reading takes the
newest that is.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parsity.engines import Snapshot
from parsity.results import Complete, outcome_from_row
from parsity.training import LogEntry, TrialState
from parsity.whole_file import write_whole

logger = logging.getLogger(__name__)


def save_checkpoint(
    path: Path, identity: str, states: Sequence[TrialState], masks: Mapping[int, Tensor | None]
) -> None:
    """Write ``states``; ``identity`` says of what race they are."""
    vectors: list[bytes] = []

    def keep(vector: Tensor, mask: Tensor | None) -> list[Any]:
        chosen = vector if mask is None else vector[mask]
        vectors.append(chosen.contiguous().numpy().tobytes())
        return [str(vector.dtype).removeprefix("torch."), list(chosen.shape)]

    trials = []
    for state in states:
        mask = masks[state.number]
        trials.append(
            {
                "number": state.number,
                "step": state.step,
                "weights": keep(state.snapshot.weights, mask),
                "slots": [keep(slot, mask) for slot in state.snapshot.slots],
                "buffers": [keep(buffer, None) for buffer in state.snapshot.buffers],
                "memory": keep(state.memory, None),
                "outcomes": [
                    [goal, o.status, o.step, o.last_miss if isinstance(o, Complete) else None]
                    for goal, o in state.outcomes.items()
                ],
                "images_looked_at": state.images_looked_at,
                "test_errors": list(state.test_errors.items()),
                "log": [[e.step, e.training_loss, e.validation_error] for e in state.log],
                "losses": list(state.losses),
                "seconds": state.seconds,
            }
        )
    body = json.dumps({"identity": identity, "trials": trials}).encode() + b"\n" + b"".join(vectors)
    contents = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    if path.exists():
        path.replace(_older(path))
    write_whole(path, contents)
    _older(path).unlink(missing_ok=True)


def load_checkpoint(path: Path, identity: str, masks: Mapping[int, Tensor | None]) -> list[TrialState] | None:
    """The states last saved for ``identity``; None where there are none, or only of another race."""
    for file in (path, _older(path)):
        try:
            digest, _, body = file.read_bytes().partition(b"\n")
        except FileNotFoundError:
            continue
        if hashlib.sha256(body).hexdigest().encode() != digest:
            logger.warning("%s is damaged: going back to the checkpoint before it, or to the beginning", file)
            continue
        heading, _, vectors = body.partition(b"\n")
        saved = json.loads(heading)
        if saved["identity"] != identity:
            logger.warning("%s belongs to another race: beginning anew", file)
            continue
        return _states(saved["trials"], vectors, masks)
    return None


def remove_checkpoint(path: Path) -> None:
    """Delete what `save_checkpoint` left."""
    path.unlink(missing_ok=True)
    _older(path).unlink(missing_ok=True)


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.older")


def _states(trials: list[Any], vectors: bytes, masks: Mapping[int, Tensor | None]) -> list[TrialState]:
    position = 0

    def take(kind: list[Any], mask: Tensor | None) -> Tensor:
        nonlocal position
        dtype, shape = np.dtype(kind[0]), kind[1]
        count = int(np.prod(shape))
        flat = np.frombuffer(vectors, dtype, count, position).reshape(shape)
        position += flat.nbytes
        kept = torch.from_numpy(flat.copy())
        return kept if mask is None else kept.new_zeros(len(mask)).masked_scatter_(mask, kept)

    states = []
    for trial in trials:
        mask = masks[trial["number"]]
        weights = take(trial["weights"], mask)
        slots = tuple(take(kind, mask) for kind in trial["slots"])
        buffers = tuple(take(kind, None) for kind in trial["buffers"])
        states.append(
            TrialState(
                trial["number"],
                trial["step"],
                Snapshot(weights, slots, buffers),
                take(trial["memory"], None),
                {goal: outcome_from_row(status, step, miss) for goal, status, step, miss in trial["outcomes"]},
                trial["images_looked_at"],
                dict(trial["test_errors"]),
                tuple(LogEntry(*entry) for entry in trial["log"]),
                tuple(trial["losses"]),
                trial.get("seconds", 0.0),  # files of older versions have none
            )
        )
    return states
