"""`sliceplan-agent simulate`: makes the file of a simulated node, and lets things happen to it."""

from collections.abc import Collection
from pathlib import Path
from typing import get_args

from ...solver.model.catalogue import load_catalogue, load_cpus
from ...solver.model.errors import Finding, InputError
from ...solver.model.parsing import closest
from ..devices.simulated.injection import FailureKind, Injection
from ..devices.simulated.node import SimulatedNode, SimulatedNodeFile, record_of, write_node


def make(path: Path, gpus: list[str], cpus: list[str]) -> None:
    """Writes a node with unused GPUs and CPUs, given as TYPE:COUNT; raises InputError if there is a file already."""
    if path.exists():
        message = "exists; remove it first, or leave out --gpus and --cpus to change it"
        raise InputError([Finding(str(path), "", message)])
    types = [name for text in gpus for name in _types(text, "--gpus", "GPUs", load_catalogue())]
    sockets = [name for text in cpus for name in _types(text, "--cpus", "CPUs", load_cpus())]
    write_node(path, record_of(SimulatedNode.unused(dict(enumerate(types)), sockets).state()))


def happen(path: Path, reboot: bool, busy: list[str], fail: list[str]) -> None:
    """Reboots a node, gives it processes of others (PID@GPU or PID@GPU:START), or failures to come (KIND@CALL)."""
    node = SimulatedNodeFile(path)
    if reboot:
        node.reboot()
    for text in busy:
        pid, index, start = _place(text)
        if index not in node.state():
            raise InputError([Finding("--busy", "", f"is {text!r}; the node has no GPU {index}")])
        node.attach(index, start, pid)
    node.inject(*(_injection(text) for text in fail))


def _types(text: str, option: str, noun: str, known: Collection[str]) -> list[str]:
    name, _, count = text.partition(":")
    if name not in known:
        raise InputError([Finding(option, "", f"has {name!r}; not in the catalogue. {closest(name, known)}")])
    if count and not (count.isdecimal() and 1 <= int(count) <= 64):
        raise InputError([Finding(option, "", f"is {text!r}; expected TYPE:COUNT with 1 to 64 {noun}")])
    return [name] * int(count or 1)


def _place(text: str) -> tuple[int, int, int | None]:
    pid, _, place = text.partition("@")
    index, _, start = place.partition(":")
    if not (pid.isdecimal() and index.isdecimal() and (start.isdecimal() or not start)):
        raise InputError([Finding("--busy", "", f"is {text!r}; expected PID@GPU or PID@GPU:START")])
    return int(pid), int(index), int(start) if start else None


def _injection(text: str) -> Injection:
    kind, _, call = text.partition("@")
    kinds: dict[str, FailureKind] = {name: name for name in get_args(FailureKind)}
    if kind not in kinds or not (call.isdecimal() and int(call) >= 1):
        message = f"is {text!r}; expected KIND@CALL, the call counted from 1 on; kinds: {', '.join(kinds)}"
        raise InputError([Finding("--fail", "", message)])
    return Injection(int(call), kinds[kind])
