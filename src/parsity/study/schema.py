"""The JSON schema of a study file, for editors that complete and check as one types."""

from __future__ import annotations

from typing import Any

from parsity.study.spec import StudySpec


def json_schema() -> dict[str, Any]:
    """The schema; what is left out is filled in from the workload, so that only that must be there."""
    schema = StudySpec.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A study of Parsity",
        "description": "What a study measures: a workload, its grid, its budget of trials, and how they are run.",
        "required": ["workload"],
    }
