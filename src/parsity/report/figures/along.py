"""Smoothness along training: the local Lipschitz constant (Fig. 4), with loss and error beside it (Fig. 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from parsity.analysis import MeasuredStudy, mean_lipschitz
from parsity.report.figures.intervals import written
from parsity.report.figures.style import (
    NOTE,
    CurveStyle,
    Width,
    finite,
    house_style,
    limits,
    new_figure,
    sparsity_label,
    styles,
    title,
)
from parsity.results import LipschitzPoint, SmoothnessCurve

Value = Callable[[LipschitzPoint], float | None]
LIPSCHITZ: tuple[str, Value] = ("local Lipschitz constant", lambda point: point.lipschitz)
BESIDE: tuple[tuple[str, Value], ...] = (
    ("training loss", lambda point: point.training_loss),
    ("training error", lambda point: point.training_error),
    ("validation error", lambda point: point.validation_error),
)
MARKED = 40
"""Up to so many points of a curve have a marker each; of more, as many in all."""


def draw_lipschitz(study: MeasuredStudy, *, width: Width = "page", heading: str | None = None) -> Figure:
    """Draw the local Lipschitz constant of each sparsity along training, its mean in the legend."""
    return _draw(study, [LIPSCHITZ], 2.9, width, heading or f"{study.name}: smoothness along training")


def draw_training(study: MeasuredStudy, *, width: Width = "page", heading: str | None = None) -> Figure:
    """Draw it above the loss and the errors of the same training."""
    height = 5.6 if width == "page" else 5.2
    return _draw(study, [LIPSCHITZ, *BESIDE], height, width, heading or f"{study.name}: smoothness, loss and error")


def _draw(study: MeasuredStudy, rows: Sequence[tuple[str, Value]], height: float, width: Width, heading: str) -> Figure:
    curves = study.smoothness.curves if study.smoothness else ()
    looks = styles([curve.sparsity for curve in curves])
    with house_style():
        figure = new_figure(width, height)
        panels = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=[1.4, *[1] * (len(rows) - 1)])[
            :, 0
        ]
        for panel, (name, value) in zip(panels, rows, strict=True):
            for curve in curves:
                _draw_curve(panel, curve, value, looks[curve.sparsity])
            shown = finite(value(point) for curve in curves for point in curve.points)
            low, high = limits(shown, margin=1.15)
            panel.set(yscale="log", ylim=(low, high), ylabel=name)
            # Within a factor of four, one, two and five may leave nothing to read the height by.
            panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 4 * low else range(1, 10)))
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())
        panels[-1].set_xlabel("training step")
        title(figure, heading)
        _conditions(panels[0], study)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2 if width == "page" else 1)
    return figure


def _draw_curve(panel: Axes, curve: SmoothnessCurve, value: Value, look: CurveStyle) -> None:
    found = [(point.step, at) for point in curve.points if (at := value(point)) is not None and at > 0]
    panel.plot(
        [step for step, _ in found],
        [at for _, at in found],
        color=look.colour,
        marker=look.marker,
        markevery=max(1, len(found) // MARKED),
        markersize=2.6,
        linestyle=look.dashes,
        label=f"{sparsity_label(curve.sparsity)}: mean {written(mean_lipschitz(curve))}",
    )
    if curve.infeasible is not None:
        panel.axvline(curve.infeasible, color=look.colour, linewidth=0.6)


def _conditions(panel: Axes, study: MeasuredStudy) -> None:
    """What was trained how: the numbers mean little without."""
    if study.smoothness is None:
        return
    spec = study.smoothness.spec
    given = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in spec["metaparameters"].items())
    images = f"{spec['images']:,} images" if spec["images"] else "the training split"
    text = f"{spec['optimiser']}, batch size {spec['batch_size']}, {given}; gradients over {images}"
    panel.set_title(text, loc="left", fontsize=6, color=NOTE)
