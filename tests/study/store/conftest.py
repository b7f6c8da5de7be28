"""The folder's own helpers can be imported by its tests, and by the processes these start."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
