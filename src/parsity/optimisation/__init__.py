"""Optimisers and schedules: the updates of the protocol, on flat vectors, usable outside any training loop.

They do arithmetic on what they are given: torch need not be imported to know their names and metaparameters.
"""

from parsity.optimisation.optimisers import OPTIMISERS, Momentum, Nesterov, Optimiser, Sgd
from parsity.optimisation.rule import Rule, make_rule, metaparameter_names
from parsity.optimisation.schedules import SCHEDULES, Constant, Cosine, Linear, Schedule, Step, WarmUp

__all__ = [
    "OPTIMISERS",
    "SCHEDULES",
    "Constant",
    "Cosine",
    "Linear",
    "Momentum",
    "Nesterov",
    "Optimiser",
    "Rule",
    "Schedule",
    "Sgd",
    "Step",
    "WarmUp",
    "make_rule",
    "metaparameter_names",
]
