"""What the measured steps say: numbers in, numbers out; no torch."""

from parsity.analysis.analyse import Analysis, analyse
from parsity.analysis.analysed import CellAnalysis, CurveAnalysis, StudyAnalysis
from parsity.analysis.best import BestAgainstBatch, best_against_batch
from parsity.analysis.boundary import EdgeVerdict, SpaceAdvice, advise, edge_verdicts, to_paste, unit_of
from parsity.analysis.budget import BestOf, Budget, best_of, best_of_weights, cell_budget, curve_budget
from parsity.analysis.claims import Case, Claim, Verdict
from parsity.analysis.curve import Curve, CurveCell, Point, curves
from parsity.analysis.estimate import LEVEL, Estimate, plain
from parsity.analysis.fitting import Fits, fit, fit_knee
from parsity.analysis.forecast import Forecast, ForecastPoint, forecast
from parsity.analysis.knee import Knee
from parsity.analysis.landmarks import CellScaling, Landmarks, Regime
from parsity.analysis.measured import Constants, MeasuredStudy
from parsity.analysis.ratios import NormalisedPoint, RatioPoint, Ratios, ratios
from parsity.analysis.region import FeasibleRange, Shares, effective_learning_rate, feasible_range, quantity, shares
from parsity.analysis.resampling import CurveDraws, Resampling, draw
from parsity.analysis.scaling import Scaling, fit_scaling
from parsity.analysis.seconds import CellSeconds, SecondsToResult, seconds_of
from parsity.analysis.smooth import PredictedRatio, constants, lipschitz_ratio, mean_lipschitz, predicted_ratios
from parsity.analysis.steps import StepsToResult, steps_to_result

__all__ = [
    "LEVEL",
    "Analysis",
    "BestAgainstBatch",
    "BestOf",
    "Budget",
    "Case",
    "CellAnalysis",
    "CellScaling",
    "CellSeconds",
    "Claim",
    "Constants",
    "Curve",
    "CurveAnalysis",
    "CurveCell",
    "CurveDraws",
    "EdgeVerdict",
    "Estimate",
    "FeasibleRange",
    "Fits",
    "Forecast",
    "ForecastPoint",
    "Knee",
    "Landmarks",
    "MeasuredStudy",
    "NormalisedPoint",
    "Point",
    "PredictedRatio",
    "RatioPoint",
    "Ratios",
    "Regime",
    "Resampling",
    "Scaling",
    "SecondsToResult",
    "Shares",
    "SpaceAdvice",
    "StepsToResult",
    "StudyAnalysis",
    "Verdict",
    "advise",
    "analyse",
    "best_against_batch",
    "best_of",
    "best_of_weights",
    "cell_budget",
    "constants",
    "curve_budget",
    "curves",
    "draw",
    "edge_verdicts",
    "effective_learning_rate",
    "feasible_range",
    "fit",
    "fit_knee",
    "fit_scaling",
    "forecast",
    "lipschitz_ratio",
    "mean_lipschitz",
    "plain",
    "predicted_ratios",
    "quantity",
    "ratios",
    "seconds_of",
    "shares",
    "steps_to_result",
    "to_paste",
    "unit_of",
]
