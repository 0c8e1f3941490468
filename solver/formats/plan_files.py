"""Plan files: JSON, one partition a line."""

from pathlib import Path

from ..model.consistency import refuse_contradictions
from ..model.errors import Finding, InputError
from ..model.parsing import parse_record, parse_text, read_text
from ..model.plan import Plan
from .text_files import write_text


def read_plan(path: Path) -> Plan:
    """
    Reads a plan, which is JSON whatever its name ends in.

    Raises
    ------
    InputError
        With every finding, if it is no plan or contradicts itself.
    """
    plan = read_as_stated(path)
    refuse_contradictions(plan, str(path))
    return plan


def read_as_stated(path: Path) -> Plan:
    """Reads a plan that may contradict itself, to be told all that is wrong with it; else as `read_plan`."""
    source = str(path)
    data = parse_text(read_text(path), source, is_json=True)
    if isinstance(data, dict) and "workloads" in data and "gpus" not in data:
        raise InputError([Finding(source, "", "is a problem; expected a plan, which has `planner` and `gpus`")])
    return parse_record(Plan, data, source)


def dump_plan(plan: Plan) -> str:
    """Returns a plan as JSON; equal plans give equal text."""
    return plan.model_dump_json(indent=1) + "\n"


def write_plan(plan: Plan, path: Path) -> None:
    """Writes a plan."""
    write_text(path, dump_plan(plan))
