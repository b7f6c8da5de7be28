"""What was measured, as plain values: no torch here, so that whatever only reads starts at once."""

from parsity.results.cell import CellResult, TrialResult, Winner
from parsity.results.choosing import EngineChoice
from parsity.results.outcomes import Complete, Incomplete, Infeasible, Outcome, Outpaced, Status, outcome_from_row
from parsity.results.settling import Finish, settled
from parsity.results.smoothness import CurvaturePoint, LipschitzPoint, NoisePoint, Smoothness, SmoothnessCurve
from parsity.results.step_times import StepTime, StepTimes, read_step_times

__all__ = [
    "CellResult",
    "Complete",
    "CurvaturePoint",
    "EngineChoice",
    "Finish",
    "Incomplete",
    "Infeasible",
    "LipschitzPoint",
    "NoisePoint",
    "Outcome",
    "Outpaced",
    "Smoothness",
    "SmoothnessCurve",
    "Status",
    "StepTime",
    "StepTimes",
    "TrialResult",
    "Winner",
    "outcome_from_row",
    "read_step_times",
    "settled",
]
