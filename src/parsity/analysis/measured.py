"""A study as the analysis takes it: its cells, and what it is known by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parsity.analysis.estimate import Estimate
from parsity.metaparameters import Space
from parsity.results import CellResult, Smoothness


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What the analysis of convergence needs, measured at one sparsity (Prop. 4.1, section 4)."""

    lipschitz: float
    """The mean local Lipschitz constant of the gradient along the training of a network."""
    delta: float | None = None
    """How far the loss is from its least value at the start."""
    beta: float | None = None
    """The bound on the gradients' variance."""
    noise_scale: float | None = None
    """tr(Sigma) / |g|^2 at the start, the simplest forecast of the critical batch."""
    n: int = 1
    """How many points along training ``lipschitz`` is the mean of."""
    lipschitz_estimate: Estimate | None = None
    """The same with its interval."""

    @property
    def product(self) -> float | None:
        """c1 up to what sparsity does not change: delta x beta x L."""
        if self.delta is None or self.beta is None:
            return None
        return self.delta * self.beta * self.lipschitz


@dataclass(frozen=True, kw_only=True)
class MeasuredStudy:
    """What `analyse` takes of a study; ``cells`` is what ``Study.cells()`` gives.

    ``space`` is needed for the verdicts on edges; ``data``, ``network`` and ``optimiser`` to know which studies are to
    be compared; ``constants``, by sparsity, where smoothness was measured.
    """

    name: str
    cells: tuple[CellResult, ...]
    space: Space | None = None
    data: str = ""
    network: str = ""
    optimiser: str = ""
    schedule: str = ""
    planned_trials: int | None = None
    planned_cells: int | None = None
    constants: Mapping[float, Constants] = field(default_factory=dict)
    smoothness: Smoothness | None = None
    """What ``constants`` were taken from."""

    def alike(self, other: MeasuredStudy) -> bool:
        """Whether both train the same network on the same data, so that their steps can be compared."""
        return bool(self.data and self.network) and (self.data, self.network) == (other.data, other.network)
