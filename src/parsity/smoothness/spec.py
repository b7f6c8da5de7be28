"""What a measurement of smoothness is asked: which network, trained how, looked at when, over which images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from parsity.errors import UsageError
from parsity.optimisation import metaparameter_names
from parsity.storage import canonical
from parsity.training import Workload

USUAL: Mapping[str, float | int] = {
    "learning_rate": 0.1,
    "momentum": 0.9,
    "decay_steps": 30_000,
    "end_learning_rate_factor": 0.1,
}
"""Metaparameters where none are given; with momentum, the learning rate is a tenth of this."""
GROWS = ("name", "sparsities", "steps", "interval", "noise_interval", "curvature_interval")
"""What may be changed later, as it decides how much is measured and not what."""


@dataclass(frozen=True, kw_only=True)
class SmoothnessSpec:
    """One network's training, and the points along it at which smoothness is measured.

    The local Lipschitz constant is measured between steps k and k + 1 for every k that is a multiple of ``interval``,
    over the first ``images`` of the training split (all of them where that is None). ``noise_images`` single-image
    gradients are sampled every ``noise_interval`` steps, and all of them at the start; the Hessian is that of
    ``curvature_images``. An interval of 0 means: at the start only; of images, 0 means not at all.
    """

    name: str
    data: str
    network: str
    optimiser: str = "sgd"
    schedule: str = "constant"
    criterion: str = "snip"
    eligible: str = "all"
    metaparameters: Mapping[str, float | int] = field(default_factory=dict)
    batch_size: int = 100
    sparsities: tuple[float, ...] = (0.0, 0.5, 0.7, 0.9)
    steps: int = 5_000
    interval: int = 100
    delta: float = 0.1
    images: int | None = None
    noise_interval: int = 1_000
    noise_images: int = 2_000
    curvature_interval: int = 1_000
    curvature_images: int = 500
    lanczos: int = 12
    probes: int = 8
    trial: int = 1
    seed: int = 0
    engine: str = "auto"

    def __post_init__(self) -> None:
        given = dict(self.metaparameters)
        needed, optional = metaparameter_names(self.optimiser, self.schedule)
        usual = dict(USUAL)
        if "momentum" in needed:
            usual["learning_rate"] /= 10
        filled = {name: given.pop(name, usual.get(name)) for name in sorted(needed)}
        filled |= {name: given.pop(name) for name in sorted(optional & set(given))}
        object.__setattr__(self, "metaparameters", filled)
        object.__setattr__(self, "sparsities", tuple(sorted(set(map(float, self.sparsities)))))
        wrong = [f"{name}: not a metaparameter of {self.optimiser} with {self.schedule} schedule" for name in given]
        wrong += [f"{name}: no usual value; give one" for name, value in filled.items() if value is None]
        wrong += self._mistakes()
        if wrong:
            raise UsageError(f"smoothness of {self.name}: {'; '.join(wrong)}")

    @classmethod
    def of(cls, workload: Workload, **choices: Any) -> SmoothnessSpec:
        """The spec for a workload whose parts are names, with some of the choices made."""
        parts = {"data": workload.data, "network": workload.network}
        for part, value in parts.items():
            if not isinstance(value, str):
                raise UsageError(f"smoothness of {workload.name}: its {part} is an object; give an import path")
        facts = {name: getattr(workload, name) for name in ("name", "optimiser", "schedule", "criterion", "eligible")}
        return cls(**{**parts, **facts, **choices})

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> SmoothnessSpec:
        """Read what `document` gave."""
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(document) - known)
        if unknown:
            raise UsageError(f"smoothness: {', '.join(unknown)}: not known; allowed are {', '.join(sorted(known))}")
        return cls(**document)

    def document(self) -> dict[str, Any]:
        """The whole spec as plain data."""
        return {**asdict(self), "sparsities": list(self.sparsities)}

    @property
    def identity(self) -> str:
        """The sha256 of all that decides a point's numbers."""
        facts = {name: value for name, value in self.document().items() if name not in GROWS}
        return hashlib.sha256(canonical(facts).encode()).hexdigest()

    @property
    def gammas(self) -> tuple[float, ...]:
        """Where between two steps the gradient is taken: delta, 2 delta, .., 1."""
        count = round(1 / self.delta)
        return tuple(number / count for number in range(1, count + 1))

    @property
    def workload(self) -> Workload:
        """What is trained; goals, checks and search have no part in it."""
        return Workload(
            name=self.name,
            data=self.data,
            network=self.network,
            optimiser=self.optimiser,
            schedule=self.schedule,
            criterion=self.criterion,
            eligible=self.eligible,
            goals=(0.0,),
        )

    def due(self) -> Iterator[tuple[int, str]]:
        """Every step at which something is measured, and what: "noise", "curvature", "lipschitz"; in order."""
        for step in range(self.steps):
            if self.noise_images and _at(step, self.noise_interval):
                yield step, "noise"
            if self.curvature_images and _at(step, self.curvature_interval):
                yield step, "curvature"
            if _at(step, self.interval):
                yield step, "lipschitz"

    def check_growth(self, older: SmoothnessSpec) -> None:
        """Refuse to go on from ``older`` where it asked for something else, and say what."""
        mine, theirs = self.document(), older.document()
        changed = [
            f"{name} is {canonical(theirs[name])}, not {canonical(mine[name])}"
            for name in mine
            if name not in GROWS and mine[name] != theirs[name]
        ]
        if changed:
            raise UsageError(
                f"smoothness of {self.name}: what is measured already differs: {'; '.join(changed)}; "
                "use another folder, or the same choices"
            )

    def with_(self, **changes: Any) -> SmoothnessSpec:
        """The same with some of the choices changed."""
        return replace(self, **changes)

    def _mistakes(self) -> Iterator[str]:
        for sparsity in self.sparsities:
            if not 0 <= sparsity < 1:
                yield f"sparsity {sparsity:g}: at least 0 and below 1"
        if not self.sparsities:
            yield "sparsities: at least one"
        for name in ("batch_size", "steps", "interval", "trial", "lanczos"):
            if getattr(self, name) < 1:
                yield f"{name} {getattr(self, name)}: at least 1"
        for name in ("noise_interval", "noise_images", "curvature_interval", "curvature_images", "seed"):
            if getattr(self, name) < 0:
                yield f"{name} {getattr(self, name)}: at least 0"
        if self.images is not None and self.images < 1:
            yield f"images {self.images}: at least 1"
        if self.noise_images == 1 or self.probes < 2:
            yield "noise_images and probes: at least 2, for an interval"
        if not 0 < self.delta <= 1 or abs(round(1 / self.delta) * self.delta - 1) > 1e-9:
            yield f"delta {self.delta:g}: 1 divided by a whole number, such as 0.1"


def _at(step: int, interval: int) -> bool:
    return step % interval == 0 if interval else step == 0
