"""How many workers: what a step costs with W of them, how long until the goal, and how studies fill a cluster.

Numbers in, numbers out; no torch. Not to be confused with `parsity.study.planning`, which cuts a study into tasks.
"""

from parsity.planning.cells import End, Lockstep, SimulatedCell
from parsity.planning.choosing import Aim, Choice, best_of_all, choices
from parsity.planning.cluster import Cluster, read_cluster
from parsity.planning.cost_model import CostModel, Step, fit_cost_model
from parsity.planning.plan import Plan, Wish, default_workers, make_plan, measured_goals
from parsity.planning.simulation import Conditions, Simulated, simulate
from parsity.planning.time_to_result import Line, Point, Uncertainty, time_lines
from parsity.planning.units import bandwidth, budget, duration, speed, spoken
from parsity.planning.validation import Compared, Validation, middle_and_worst, validate

__all__ = [
    "Aim",
    "Choice",
    "Cluster",
    "Compared",
    "Conditions",
    "CostModel",
    "End",
    "Line",
    "Lockstep",
    "Plan",
    "Point",
    "Simulated",
    "SimulatedCell",
    "Step",
    "Uncertainty",
    "Validation",
    "Wish",
    "bandwidth",
    "best_of_all",
    "budget",
    "choices",
    "default_workers",
    "duration",
    "fit_cost_model",
    "make_plan",
    "measured_goals",
    "middle_and_worst",
    "read_cluster",
    "simulate",
    "speed",
    "spoken",
    "time_lines",
    "validate",
]
