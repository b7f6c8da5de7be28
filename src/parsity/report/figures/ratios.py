"""How many times the steps of the least sparse network the sparser ones need (Fig. 12)."""

from __future__ import annotations

from matplotlib.figure import Figure

from parsity.analysis import StudyAnalysis
from parsity.report.figures.intervals import draw_interval, interval_handle, room, written
from parsity.report.figures.style import (
    FAINT,
    Width,
    draw_points,
    house_style,
    limits,
    log2_axis,
    new_figure,
    sparsity_label,
    styles,
    title,
    unfinished_handle,
)

ASIDE = 0.1
"""Octaves between the curves, so that intervals do not hide each other."""


def draw_ratios(study: StudyAnalysis, goal: float, *, width: Width = "page", heading: str | None = None) -> Figure:
    """Draw the ratio of each sparsity's steps over the batch size, with its intervals and its geometric mean."""
    found = [one for one in study.ratios if one.goal == goal]
    against = found[0].against if found else 0.0
    # Colours are those of the scaling figure.
    looks = styles(sorted({curve.sparsity for curve in study.curves if curve.goal == goal} | {against}))
    due = {batch_size for batch_size, sparsity in study.unfinished if sparsity == against}
    with house_style():
        figure = new_figure(width, 2.9 if width == "page" else 2.8)
        panel = figure.subplots()
        points = [point for one in found for point in one.points]
        shown = [x for p in points for x in (p.ratio.value, p.ratio.low, p.ratio.high, *room(p.ratio))]
        log2_axis(panel, "x", limits([point.batch_size for point in points], margin=1.6), most=10)
        log2_axis(panel, "y", limits([1.0, *shown], margin=1.2), plain=True)
        panel.axhline(1, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        unfinished = set()
        for place, one in enumerate(found):
            look = looks[one.sparsity]
            aside = 2 ** (ASIDE * (place - (len(found) - 1) / 2))
            for point in one.points:
                draw_interval(panel, point.batch_size * aside, point.ratio, colour=look.colour)
            drawn = [(p.batch_size * aside, p.ratio.value) for p in one.points if p.ratio.value is not None]
            hollow = {
                (point.batch_size * aside, one.sparsity)
                for point in one.points
                if point.batch_size in due or (point.batch_size, one.sparsity) in study.unfinished
            }
            unfinished |= hollow
            label = f"{sparsity_label(one.sparsity)}: mean {written(one.believed_mean)}"
            draw_points(panel, drawn, one.sparsity, look, hollow, label=label)
        panel.set_xlabel("batch size")
        panel.set_ylabel(f"steps / steps at {sparsity_label(against)}" if against else "steps / dense steps")
        title(figure, heading or f"{study.name}: cost of sparsity, goal {goal:g}")
        extra = [interval_handle()] if points else []
        extra += [unfinished_handle()] if unfinished else []
        figure.legend(
            handles=[*panel.get_legend_handles_labels()[0], *extra],
            loc="outside lower center",
            ncols=2 if width == "page" else 1,
        )
    return figure
