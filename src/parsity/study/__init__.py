"""Studies: what is asked for, where its results are kept, and the driver that gets them.

Reading a study needs no torch; what does is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsity.study.comparing import Difference, check_extension, differences
    from parsity.study.costs import Costs
    from parsity.study.driver import Driver
    from parsity.study.estimates import estimated_hours
    from parsity.study.exporting import export, import_results, table_rows, trial_rows
    from parsity.study.overrides import apply_overrides
    from parsity.study.presets import PRESETS, Preset, heading, preset
    from parsity.study.reading import find_spec, read_spec
    from parsity.study.schema import json_schema
    from parsity.study.spec import StudySpec
    from parsity.study.store import (
        AlreadyStoredError,
        CellState,
        Comparison,
        Damage,
        Overview,
        SetAside,
        Store,
        StoredTrial,
        TableRow,
        UnwritableError,
        compare,
        gather_provenance,
        verify,
    )
    from parsity.study.study import STORE, Ended, Study, cores, plan, usual_workers
    from parsity.study.writing import render

_HOMES = {
    "AlreadyStoredError": "store",
    "apply_overrides": "overrides",
    "CellState": "store",
    "check_extension": "comparing",
    "compare": "store",
    "Comparison": "store",
    "Damage": "store",
    "Difference": "comparing",
    "cores": "study",
    "Costs": "costs",
    "differences": "comparing",
    "Driver": "driver",
    "Ended": "study",
    "estimated_hours": "estimates",
    "export": "exporting",
    "find_spec": "reading",
    "gather_provenance": "store",
    "heading": "presets",
    "import_results": "exporting",
    "json_schema": "schema",
    "plan": "study",
    "Preset": "presets",
    "Overview": "store",
    "preset": "presets",
    "PRESETS": "presets",
    "read_spec": "reading",
    "render": "writing",
    "SetAside": "store",
    "Store": "store",
    "StoredTrial": "store",
    "STORE": "study",
    "Study": "study",
    "StudySpec": "spec",
    "TableRow": "store",
    "table_rows": "exporting",
    "trial_rows": "exporting",
    "UnwritableError": "store",
    "usual_workers": "study",
    "verify": "store",
}

__all__ = [
    "PRESETS",
    "STORE",
    "AlreadyStoredError",
    "CellState",
    "Comparison",
    "Costs",
    "Damage",
    "Difference",
    "Driver",
    "Ended",
    "Overview",
    "Preset",
    "SetAside",
    "Store",
    "StoredTrial",
    "Study",
    "StudySpec",
    "TableRow",
    "UnwritableError",
    "apply_overrides",
    "check_extension",
    "compare",
    "cores",
    "differences",
    "estimated_hours",
    "export",
    "find_spec",
    "gather_provenance",
    "heading",
    "import_results",
    "json_schema",
    "plan",
    "preset",
    "read_spec",
    "render",
    "table_rows",
    "trial_rows",
    "usual_workers",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
