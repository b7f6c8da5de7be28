"""Pruning at initialisation: criteria give scores, selection keeps the best, a mask remembers which.

Everything is over the flat vector of a network's parameters, in the order of ``named_parameters()``.
"""

from parsity.pruning.criterion import CRITERIA, Criterion, LabelledBatches, find_criterion
from parsity.pruning.flow import cut_off_layers, flow, layer_of
from parsity.pruning.gradients import summed_gradient
from parsity.pruning.grasp import GraSP
from parsity.pruning.layout import Layout, flatten
from parsity.pruning.magnitude import Magnitude
from parsity.pruning.mask import Mask, TensorReport
from parsity.pruning.procedure import masks, prune, scores, warn_of_cut_off_layers
from parsity.pruning.random_choice import Random
from parsity.pruning.selection import Eligible, check_sparsity, eligible_entries, kept_number, select
from parsity.pruning.snip import SNIP
from parsity.pruning.synflow import SynFlow

__all__ = [
    "CRITERIA",
    "SNIP",
    "Criterion",
    "Eligible",
    "GraSP",
    "LabelledBatches",
    "Layout",
    "Magnitude",
    "Mask",
    "Random",
    "SynFlow",
    "TensorReport",
    "check_sparsity",
    "cut_off_layers",
    "eligible_entries",
    "find_criterion",
    "flatten",
    "flow",
    "kept_number",
    "layer_of",
    "masks",
    "prune",
    "scores",
    "select",
    "summed_gradient",
    "warn_of_cut_off_layers",
]
