"""Studies that come with Parsity: every built-in workload, at the scale of the paper and at that of a desk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parsity.errors import UsageError
from parsity.extensions import unknown
from parsity.study.estimates import CORES, estimated_hours, spoken
from parsity.study.extents import PAPER, SCALES, Extent, Scale, extent
from parsity.study.spec import StudySpec
from parsity.training import WORKLOADS


@dataclass(frozen=True)
class Preset:
    """One built-in workload at one scale."""

    name: str
    scale: Scale
    extent: Extent

    @property
    def spec(self) -> StudySpec:
        """The study, complete."""
        return StudySpec.from_document(self.document(), self.name)

    def document(self) -> dict[str, Any]:
        """What its study file says."""
        return {
            "workload": self.name,
            "batch_sizes": list(self.extent.batch_sizes),
            "sparsities": list(self.extent.sparsities),
            "trials": self.extent.trials,
            "patience": self.extent.patience,
        }


PRESETS = tuple(
    Preset(name, scale, found) for name in WORKLOADS for scale in SCALES if (found := extent(name, scale)) is not None
)


def preset(name: str, scale: str | None = None) -> Preset:
    """The preset ``name`` at ``scale`` (desk, unless told); ``name/scale`` says both."""
    word, slash, suffix = name.partition("/")
    if word not in WORKLOADS:
        raise UsageError(unknown("presets", word, WORKLOADS, paths=False))
    if slash and scale is not None and scale != suffix:
        raise UsageError(f"preset {name}: it says a scale, and --scale {scale} another; give one of them")
    wanted = suffix if slash else scale or "desk"
    found = {one.scale: one for one in PRESETS if one.name == word}
    for one in found.values():
        if one.scale == wanted:
            return one
    raise UsageError(f"preset {word}: it has no scale {wanted!r}; allowed: {', '.join(found)}")


def preset_document(name: str, scale: str | None = None) -> dict[str, Any]:
    """What the study file of a preset says."""
    return preset(name, scale).document()


def heading(spec: StudySpec) -> str:
    """A few lines about a study, for the top of its file."""
    parts, hours = spec.ingredients, estimated_hours(spec)
    lines = [
        f"{parts.network} on {parts.data}, {parts.optimiser} with {parts.schedule} learning rate.",
        f"{len(spec.batch_sizes)} batch sizes x {len(spec.sparsities)} sparsities x {spec.trials} trials"
        + (f": {spoken(hours)} on {CORES} cores." if hours is not None else "."),
    ]
    if spec.batch_sizes == PAPER.batch_sizes and spec.patience == PAPER.patience:
        lines.append("The paper's grid. Its protocol to the letter, at a hundred times the cost, is patience = inf.")
    return "\n".join([*lines, "`parsity run study.toml --dry-run` reckons the time for this machine."])
