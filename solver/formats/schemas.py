"""The JSON Schemas of the file formats, generated from the records."""

import json

from pydantic import BaseModel

from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import ProfileFile
from ..model.simulation_report import SimulationReport
from ..model.transition import Transition

RECORDS: dict[str, type[BaseModel]] = {
    "problem": Problem,
    "plan": Plan,
    "profile": ProfileFile,
    "transition": Transition,
    "simulation": SimulationReport,
}


def schema_text(kind: str) -> str:
    """Returns the JSON Schema of a file of one of the RECORDS, as it is shipped in model/schema."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **RECORDS[kind].model_json_schema(mode="validation"),
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
