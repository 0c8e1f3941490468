"""How a stack's files are applied: its steps with the names that the files have in this download."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from sliceplan.solver.formats.exports.target import Export
from sliceplan.solver.model.parsing import parse_text
from sliceplan.solver.model.plan import Plan

from ...widgets.files import dated_name

PROGRAMS = ("docker", "kubectl", "nvidia-mig-parted", "sh", "sliceplan", "sliceplan-agent")
"""That steps call."""

OF_A_FORMAT = re.compile(r"\{(path|named):([a-z-]+)\}")
"""What stands in a step for a file of a format, or for the name of the Kubernetes object in it."""

VARIABLES = re.compile(r"/run/sliceplan/services/\S+\.env")
"""Files of variables that a script for a node writes."""


def in_download(made: Mapping[str, Export]) -> dict[str, str]:
    """Returns the files of one download by their paths in it: a folder a format where there are several formats."""
    return {_path(made, name, file): text for name, export in made.items() for file, text in export.files.items()}


def steps_for(steps: Sequence[str], made: Mapping[str, Export], problem: str, plan: Plan) -> list[str]:
    """
    Returns the steps for the files that were made, in Markdown; those for files that could not be made are left out.

    Parameters
    ----------
    steps
        With {file}, {node} and {gpus} for the first file, the first node and its GPUs; {variables} for the first file
        of variables that it writes; {path:FORMAT} and {named:FORMAT} for the file of a format, and the object in it.
    """
    files = in_download(made)
    path, text = next(iter(files.items()))
    file = path if len(files) > 1 else dated_name(problem, PurePath(path).name)
    node = next((gpu.node for gpu in plan.gpus if gpu.node is not None), None)
    there = Counter(gpu.gpu for gpu in plan.gpus if gpu.node == node and gpu.sharing != "cores")
    variables = VARIABLES.search(text)
    words = {
        "{file}": file,
        "{node}": node or "NODE",
        "{gpus}": " ".join(f"--gpus {kind}:{count}" for kind, count in there.items()),
        "{variables}": variables[0] if variables else "/run/sliceplan/services/NAME.env",
    }
    filled = []
    for step in steps:
        if {name for _, name in OF_A_FORMAT.findall(step)} <= made.keys():
            one = OF_A_FORMAT.sub(lambda found: _of_a_format(found[1], made, found[2]), step)
            for word, meaning in words.items():
                one = one.replace(word, meaning)
            filled.append(one)
    return filled


def _of_a_format(what: str, made: Mapping[str, Export], name: str) -> str:
    file, text = next(iter(made[name].files.items()))
    if what == "path":
        return _path(made, name, file)
    named: str = parse_text(text, file)["metadata"]["name"]
    return named


def _path(made: Mapping[str, Export], name: str, file: str) -> str:
    return f"{name}/{file}" if len(made) > 1 else file


def commands_in(steps: Sequence[str]) -> list[str]:
    """Returns the commands in steps of Markdown, in their order: what is set as code and begins with a program."""
    found = (code for step in steps for code in re.findall(r"`([^`]+)`", step))
    return [code for code in found if code.split()[0] in PROGRAMS and " " in code]
