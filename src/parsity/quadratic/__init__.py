"""The workload `quadratic`: a noisy quadratic whose constants are known, trained like any network.

It enters by import path, as one's own workload does. Nothing in the protocol knows of it, so what is measured on it
is what Parsity measures on anything, and can be held against the theory.
"""

from parsity.quadratic.images import images
from parsity.quadratic.network import Quadratic
from parsity.quadratic.problem import PROBLEM

__all__ = ["PROBLEM", "Quadratic", "images"]
