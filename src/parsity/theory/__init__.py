"""The analysis of convergence as functions of its constants, each derived in `docs/theory.md`; no torch."""

from parsity.theory.bound import Assumptions, Decay, predicted_ratio, steps_of_schedule
from parsity.theory.quadratic import NoisyQuadratic

__all__ = ["Assumptions", "Decay", "NoisyQuadratic", "predicted_ratio", "steps_of_schedule"]
