"""The paper's figures, drawn from stored results."""

from parsity.report.figures.along import draw_lipschitz, draw_training
from parsity.report.figures.catalogue import ALL, ALONG_TRAINING, KINDS, PAPER, Kind, Subject, draw, find_kinds, missing
from parsity.report.figures.clouds import draw_clouds
from parsity.report.figures.ranges import draw_ranges
from parsity.report.figures.ratios import draw_ratios
from parsity.report.figures.saving import FORMATS, Format, encode, save, stem
from parsity.report.figures.scaling import draw_scaling
from parsity.report.figures.style import INCHES, Width
from parsity.report.figures.time_to_result import draw_time_to_result

__all__ = [
    "ALL",
    "ALONG_TRAINING",
    "FORMATS",
    "INCHES",
    "KINDS",
    "PAPER",
    "Format",
    "Kind",
    "Subject",
    "Width",
    "draw",
    "draw_clouds",
    "draw_lipschitz",
    "draw_ranges",
    "draw_ratios",
    "draw_scaling",
    "draw_time_to_result",
    "draw_training",
    "encode",
    "find_kinds",
    "missing",
    "save",
    "stem",
]
