"""The page: one HTML file that answers first, then shows the curves, the clouds and where they come from."""

from parsity.report.page.document import page, problem_page
from parsity.report.page.reported import CellProgress, ReportedStudy, SetAsideTrials

__all__ = ["CellProgress", "ReportedStudy", "SetAsideTrials", "page", "problem_page"]
