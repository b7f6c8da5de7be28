"""The folder's own helpers, and the analysis' studies of known truth, can be imported by its tests."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "analysis")]
