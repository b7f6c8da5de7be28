"""The race: a cell's trials run so that K* is exact, and no step is spent that cannot change it."""

from parsity.racing.bounds import Bounds, LocalBounds
from parsity.racing.cell import Cell
from parsity.racing.checkpoint import load_checkpoint, save_checkpoint
from parsity.racing.choosing import calibrator_of, choose_engine
from parsity.racing.runner import Runner
from parsity.racing.scores import Scores, Shelf
from parsity.racing.shard import LeftForLaterError, Shard
from parsity.racing.single import race

__all__ = [
    "Bounds",
    "Cell",
    "LeftForLaterError",
    "LocalBounds",
    "Runner",
    "Scores",
    "Shard",
    "Shelf",
    "calibrator_of",
    "choose_engine",
    "load_checkpoint",
    "race",
    "save_checkpoint",
]
