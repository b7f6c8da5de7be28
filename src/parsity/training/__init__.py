"""One trial: a workload's network trained with one set of metaparameters, until its outcome is known."""

from parsity.training.definition import Workload, default_space, scoring_batches
from parsity.training.goal_test import CertifiedTest, ConfidentTest, GoalTest, Verdict, most_mistakes
from parsity.training.seeds import derived_seed
from parsity.training.testing import test_error
from parsity.training.trial import Conditions, LogEntry, Trial, TrialState
from parsity.training.workloads import WORKLOADS, workload

__all__ = [
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
