"""What a trial is run with: the search space, and the sequence of its points."""

from parsity.metaparameters.sequences import SEQUENCES, points
from parsity.metaparameters.space import Choice, Integer, Linear, Log, Metaparameters, ReverseLog, Scale, Space

__all__ = [
    "SEQUENCES",
    "Choice",
    "Integer",
    "Linear",
    "Log",
    "Metaparameters",
    "ReverseLog",
    "Scale",
    "Space",
    "points",
]
