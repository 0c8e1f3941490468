"""How a stack's files are applied: its steps with the names that the files have in this download."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from sliceplan.solver.formats.exports.target import Export
from sliceplan.solver.model.parsing import parse_text
from sliceplan.solver.model.plan import Plan

from ...widgets.files import dated_name
from .stacks import Step

OF_A_FORMAT = re.compile(r"\{(path|named|config):([a-z-]+)(?:/([a-z.-]+))?\}")
"""
What stands in a step for a file of a format, the first one or that of a name, or for what is in it: the name of the
Kubernetes object, or of mig-parted's configuration.
"""

VARIABLES = re.compile(r"/run/sliceplan/services/\S+\.env")
"""Files of variables that a script for a node writes."""


def in_download(made: Mapping[str, Export]) -> dict[str, str]:
    """Returns the files of one download by their paths in it: a folder a format where there are several formats."""
    return {_path(made, name, file): text for name, export in made.items() for file, text in export.files.items()}


def steps_for(steps: Sequence[Step], made: Mapping[str, Export], problem: str, plan: Plan) -> list[Step]:
    """
    Returns the steps for the files that were made; those for files that could not be made are left out.

    Parameters
    ----------
    steps
        With {file}, {node} and {gpus} for the first file, the first node and its GPUs; {variables} for the first file
        of variables that it writes; {path:FORMAT}, {path:FORMAT/FILE}, {named:FORMAT} and {config:FORMAT} for a file of
        a format, the object in it, and mig-parted's configuration in it.
    """
    files = in_download(made)
    path, text = next(iter(files.items()))
    as_taken = {one: one if len(files) > 1 else dated_name(problem, PurePath(one).name) for one in files}
    file = as_taken[path]
    node = next((gpu.node for gpu in plan.gpus if gpu.node is not None), None)
    there = Counter(gpu.gpu for gpu in plan.gpus if gpu.node == node and gpu.sharing != "cores")
    variables = VARIABLES.search(text)
    words = {
        "{file}": file,
        "{node}": node or "NODE",
        "{gpus}": " ".join(f"--gpus {kind}:{count}" for kind, count in there.items()),
        "{variables}": variables[0] if variables else "/run/sliceplan/services/NAME.env",
    }

    def filled(text: str) -> str:
        text = OF_A_FORMAT.sub(lambda found: _of_a_format(found, made, as_taken), text)
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        return text

    return [
        Step(filled(step.text), tuple(map(filled, step.commands)))
        for step in steps
        if all(_is_made(made, name, named) for _, name, named in OF_A_FORMAT.findall("\n".join(_texts(step))))
    ]


def names_a_node(step: Step) -> bool:
    """Tells whether a step is for one node, by its name."""
    return any("{node}" in text for text in _texts(step))


def _texts(step: Step) -> tuple[str, ...]:
    return (step.text, *step.commands)


def _is_made(made: Mapping[str, Export], name: str, file: str) -> bool:
    """Tells whether there is a format, and the file of it that is named."""
    return name in made and (not file or file in made[name].files)


def _of_a_format(found: re.Match[str], made: Mapping[str, Export], as_taken: Mapping[str, str]) -> str:
    what, name, file = found.groups()
    file = file or next(iter(made[name].files))
    if what == "path":
        return as_taken[_path(made, name, file)]
    read = parse_text(made[name].files[file], file)
    named: str = read["metadata"]["name"] if what == "named" else next(iter(read["mig-configs"]))
    return named


def _path(made: Mapping[str, Export], name: str, file: str) -> str:
    return f"{name}/{file}" if len(made) > 1 else file
