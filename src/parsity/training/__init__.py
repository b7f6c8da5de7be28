"""One trial: a workload's network trained with one set of metaparameters, until its outcome is known.

Workloads are descriptions and need no torch; what trains is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parsity.training.definition import USUAL_RANGES, Workload, default_space
from parsity.training.goals import most_mistakes
from parsity.training.seeds import derived_seed
from parsity.training.workloads import WORKLOADS, workload

if TYPE_CHECKING:
    from parsity.training.goal_test import CertifiedTest, ConfidentTest, GoalTest, Verdict
    from parsity.training.scoring import scoring_batches
    from parsity.training.testing import test_error
    from parsity.training.trial import Conditions, LogEntry, Trial, TrialState

_HOMES = {
    "CertifiedTest": "goal_test",
    "Conditions": "trial",
    "ConfidentTest": "goal_test",
    "GoalTest": "goal_test",
    "LogEntry": "trial",
    "Trial": "trial",
    "TrialState": "trial",
    "Verdict": "goal_test",
    "scoring_batches": "scoring",
    "test_error": "testing",
}

__all__ = [
    "USUAL_RANGES",
    "WORKLOADS",
    "CertifiedTest",
    "Conditions",
    "ConfidentTest",
    "GoalTest",
    "LogEntry",
    "Trial",
    "TrialState",
    "Verdict",
    "Workload",
    "default_space",
    "derived_seed",
    "most_mistakes",
    "scoring_batches",
    "test_error",
    "workload",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
