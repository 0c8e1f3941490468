"""What an export says of itself, in words of the page: no option of a command line, and commands set as code."""

import re
from collections.abc import Iterable, Sequence

from sliceplan.solver.api.exporting import export_formats

from ...widgets.texts import literal
from .format_names import FORMAT_NAMES, format_name
from .stacks import BY_NAME, STACKS

NODES, IMAGES, UUIDS, REST = (
    "Nodes",
    "Container images",
    "Output of nvidia-smi -L",
    "List the node's other GPUs too",
)
"""Fields of the page, as they are called there."""

NOT_HERE = re.compile(r"--(?:lscpu|memory)\b")
"""Options for which the page has no field."""

SAID: tuple[tuple[str, str], ...] = (
    (r"run: sliceplan assign the plan --nodes (\S+) -o the plan", rf"enter them in “{NODES}” above, as \1"),
    (r"run `sliceplan assign` first", f"say in “{NODES}” above which are on which"),
    (r" \(`sliceplan assign`\)", ""),
    (r"then give \S+=(\S+)", r"then upload \1 above"),
    (
        r"give --image (\S+) for all, or WORKLOAD=(\S+) for each",
        r"type \1 for all, or SERVICE=\2 for each, a line each",
    ),
    (r"--nodes\b", f"“{NODES}”"),
    (r"--image\b", f"“{IMAGES}”"),
    (r"--uuids \(`nvidia-smi -L`\)", f"“{UUIDS}”"),
    (r"--uuids\b", f"“{UUIDS}”"),
    (r"--rest(?: mig-off)?\b", f"“{REST}”"),
    (r"of one workload\b", "of one service"),
    (r"\bis no workload of\b", "is no service of"),
    (r"^the plan: gpus not assigned", "GPUs are not assigned"),
    (r"^the plan: ", ""),
    (r"^gpus has\b", "the plan has"),
    (r"^gpus is not assigned\b", "GPUs are not assigned"),
    (r"^gpus\[\d+\]\.sharing is cores: ", ""),
)
"""What texts for the command line say, and what is to be done here instead; the longer ones first."""

PART = re.compile(r" partitions\[(\d+)\](?:\.\w+)?")
"""Where something stands in the plan's file, counted from 0."""

NAME = "|".join(sorted(export_formats(), key=len, reverse=True))
NAMES = rf"(?:{NAME})(?:(?:, | or | and )(?:{NAME}))*(?![\w-]|\.\w)"
ADVISED = re.compile(rf"--format ({NAMES})|(?<=\bexport )({NAMES})|(?<=\bby )({NAMES})|(?<=\()({NAMES})(?=\))")
"""Where formats are named that one may take."""

HYPHENED = re.compile(rf"(?<![\w./-])({'|'.join(name for name in FORMAT_NAMES if name.count('-'))})(?![\w/-]|\.\w)")
"""Formats whose names are no words, wherever else they stand."""


def said_here(text: str, own: Sequence[str] = ()) -> str:
    """
    Returns a text as Markdown; what is not code in it is literal.

    Parameters
    ----------
    own
        Formats that are made together with the one that says it, so that its file is here already.
    """
    for pattern, words in SAID:
        text = re.sub(pattern, words, text)
    text = PART.sub(lambda found: f", part {int(found[1]) + 1},", text)
    text = ADVISED.sub(lambda found: _called(re.split(", | or | and ", next(filter(None, found.groups()))), own), text)
    return "".join(f"`{part}`" if odd else _literal(_named(part)) for odd, part in _parts(text))


def listed_here(texts: Iterable[str], own: Sequence[str] = ()) -> str:
    """Returns texts as a list in Markdown."""
    return "\n".join(f"- {said_here(text, own)}" for text in texts)


def _called(formats: Sequence[str], own: Sequence[str]) -> str:
    """Returns what is chosen on the page for one of some formats."""
    return " or ".join(dict.fromkeys(_choice(name, own) for name in formats))


def _named(text: str) -> str:
    """Returns a text with formats called as people call them."""
    return HYPHENED.sub(lambda found: found[0] if found[0] == "mig-parted" else f"“{format_name(found[0])}”", text)


def _choice(name: str, own: Sequence[str]) -> str:
    if name in own:
        return f"“{format_name(name)}”"
    stacks = [stack for stack in STACKS if name in stack.formats]
    first = next((stack for stack in stacks if stack.formats[0] == name), next(iter(stacks), None))
    return f"“{BY_NAME}: {format_name(name)}”" if first is None else f"“{first.name}”"


def _parts(text: str) -> Iterable[tuple[bool, str]]:
    """Yields what stands outside and inside of backticks in turn."""
    return ((number % 2 == 1, part) for number, part in enumerate(re.split(r"`([^`\n]+)`", text)))


def _literal(text: str) -> str:
    """Returns what `literal` does, with the spaces at both ends, which part a text from code."""
    if not text.strip():
        return text[:1]
    return f"{' ' * text[0].isspace()}{literal(text)}{' ' * text[-1].isspace()}"
