"""The exact commands of the steps on cores, as `commands.py` has those on GPUs; the agent runs the same words."""

from shlex import join, quote

from ..model.core_services import CoreService
from ..model.core_steps import CheckOnCores, MoveToCores, OnCpu, StartOnCores, StopOnCores
from ..model.service_environment import core_environment
from ..model.slices import EFFECTIVE, PARENT, confining, slice_name, starting, stopping
from ..model.step_text import core_settings_text

NEXT = " \\\n  "
"""Continues a command on the next line, so that it fits a narrow terminal."""

CORE_NOTES = (
    "The slice of a service keeps it on its cores and keeps nobody else off them: other processes of",
    "the node may run there, unless AllowedCPUs of system.slice and user.slice says otherwise.",
)
"""What a person must know who runs services on cores."""


def core_commands_of(step: OnCpu, folder: str) -> list[str]:
    """
    Returns the shell lines of a step; none for a step that only looks.

    Parameters
    ----------
    folder
        Holds the files of environment variables.
    """
    file = quote(f"{folder}/{step.name}.env")
    match step:
        case StartOnCores(name=name, service=service):
            making = [_lines(confining(step)), join(starting(name)), _look(name)]
            return [*making, *_write_environment(service, folder, file)]
        case MoveToCores(name=name):
            return [_lines(confining(step)), _look(name)]
        case StopOnCores(name=name):
            return [join(stopping(name)), f"rm -f {file}"]
        case CheckOnCores():
            return []


def _lines(words: list[str]) -> str:
    """Returns a command with what it sets on lines of their own."""
    return NEXT.join([join(words[:-2]), *map(quote, words[-2:])])


def _look(name: str) -> str:
    """Returns the line that shows what the kernel made of it."""
    folder = f"/sys/fs/cgroup/{PARENT}.slice/{slice_name(name)}"
    return NEXT.join(["cat", *(quote(f"{folder}/{file}") for file in EFFECTIVE)])


def _write_environment(service: CoreService, folder: str, file: str) -> list[str]:
    lines = [f"# {core_settings_text(service)}"]
    lines += [f"{key}={value}" for key, value in core_environment(service).items()]
    return [f"mkdir -p {folder}", NEXT.join([r"printf '%s\n'", *map(quote, lines), f"> {file}"])]
