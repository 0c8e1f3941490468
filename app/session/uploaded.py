"""A problem from an uploaded file: limited in size, parsed safely, with a word for files of another kind."""

from typing import Any

from sliceplan.solver.formats.problem_files import problem_from
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.parsing import parse_text
from sliceplan.solver.model.problem import Problem

MOST_MIB = 5
"""A problem of 1,000 services takes about 0.15 MB."""

MOST_VALUES = {True: 400_000, False: 200_000}
"""Of JSON, and of YAML, which takes ten times as long to read; some 40,000 and 20,000 services."""

OTHER_KINDS = (
    ({"planner", "gpus_used"}, "is a plan, the answer to a problem; upload the problem that it answers"),
    ({"strategy", "steps"}, "is a transition between two plans; upload a problem: its fleet and workloads"),
    (
        {"profiles"},
        "is a file of profiles; upload a problem: its fleet and workloads, which name profiles by their models",
    ),
    ({"points", "steps"}, "is a report of a sweep; upload the problem that was swept"),
)


def uploaded_problem(name: str, content: bytes) -> Problem:
    """Returns the problem in a file of YAML or JSON; InputError with every finding if it is none."""
    is_json = name.lower().endswith(".json")
    data = parse_text(text_of(name, content), name, is_json=is_json, most_values=MOST_VALUES[is_json])
    if isinstance(data, dict) and not {"fleet", "workloads"} & data.keys():
        for keys, message in OTHER_KINDS:
            if keys <= data.keys():
                raise InputError([Finding(name, "", message + _named(data))])
    return problem_from(data, name)


def text_of(name: str, content: bytes) -> str:
    """Returns a file's text; InputError if it is too large or not UTF-8."""
    if len(content) > MOST_MIB * 2**20:
        message = f"has {len(content) / 2**20:.1f} MiB; at most {MOST_MIB} MiB are read here, more by the command line"
        raise InputError([Finding(name, "", message)])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 text (byte {error.start}); save it as UTF-8"
        raise InputError([Finding(name, "", message)]) from error


def _named(data: dict[str, Any]) -> str:
    problem = data.get("problem")
    return f" ({problem['name']})" if isinstance(problem, dict) and isinstance(problem.get("name"), str) else ""
