"""The exact commands of the steps on cores, as `commands.py` has those on GPUs; the agent runs the same words."""

from collections.abc import Sequence
from shlex import join, quote

from ..model.core_services import CoreService
from ..model.core_steps import CheckOnCores, MoveToCores, OnCpu, StartOnCores, StopOnCores
from ..model.plain_processes import finding, moving_to, starting_on
from ..model.service_environment import MARK, core_environment
from ..model.slices import EFFECTIVE, PARENT, confining, slice_name, starting, stopping
from ..model.step_text import core_settings_text

NEXT = " \\\n  "
"""Continues a command on the next line, so that it fits a narrow terminal."""

CORE_NOTES = (
    "The slice of a service keeps it on its cores and keeps nobody else off them: other processes of",
    "the node may run there, unless AllowedCPUs of system.slice and user.slice says otherwise.",
)
"""What a person must know who runs services on cores."""

AFFINITY_NOTES = (
    "A plain process is kept on its cores by the affinity of its threads, which it may change itself.",
    "Its memory comes from the NUMA node where a thread first writes to it, and does not move with it.",
)
"""What a person must know, too, who runs plain processes on cores."""


def core_commands_of(step: OnCpu, folder: str, command: Sequence[str] | None = None) -> list[str]:
    """
    Returns the shell lines of a step; none for a step that only looks.

    Parameters
    ----------
    folder
        Holds the files of environment variables.
    command
        Of a service that is plain processes, with its placeholders; None: it has a slice.
    """
    file = quote(f"{folder}/{step.name}.env")
    if command is not None:
        return _of_plain_processes(step, folder, file, command)
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


def _of_plain_processes(step: OnCpu, folder: str, file: str, command: Sequence[str]) -> list[str]:
    match step:
        case StartOnCores(name=name, cpus=cpus, service=service):
            variables = f"env $(grep -v '^#' {file}) {quote(f'{MARK}={name}')}"
            starting = f"{variables}{NEXT}{join(starting_on(cpus, command))}"
            return [*_write_environment(service, folder, file), starting]
        case MoveToCores(name=name, cpus=cpus):
            return [_for_each_process(name, join(moving_to(cpus)))]
        case StopOnCores(name=name):
            return [_for_each_process(name, "kill"), f"rm -f {file}"]
        case CheckOnCores():
            return []


def _for_each_process(name: str, words: str) -> str:
    """Returns the lines that do something with the id of every process of a service."""
    found = NEXT.join([join(finding(name)), "/proc/[0-9]*/environ | cut -d/ -f3 |"])
    return f'{found}\n  while read -r pid; do {words} "$pid"; done'


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
