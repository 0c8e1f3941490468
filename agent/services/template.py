"""
How a workload is started on this node: a command line with placeholders, which the node's own configuration holds.

A plan only chooses which template is used and what the placeholders stand for. The result is a list of words for
execve; no shell sees it, so a value can neither end a word nor begin another one.
"""

import re
import string
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from ...solver.model.base import Record

PLACEHOLDERS = {
    "workload": "name of the workload",
    "replica": "number that tells services of one workload on one slot apart, from 1",
    "batch": "batch size that the plan counts on",
    "processes": "processes that the plan counts on",
    "process": "number of this process, from 0",
    "gpu_index": "index of the GPU in the node",
    "slot": "name of the slot, as gpu0 or gpu0-start4",
    "device_uuid": "UUID of the slot: of the MIG device, or of the whole GPU",
    "gpu_uuid": "UUID of the GPU",
    "mig_uuid": "UUID of the MIG device; empty on a whole GPU",
    "cuda_visible_devices": "as device_uuid; empty behind an MPS daemon, which has one device only",
    "sm_percent": "cap of each process under MPS; 100 without one",
    "role": "active or standby",
    "port": "number from `ports`, of this process only",
    "cpu_index": "index of the CPU in the node; empty on a GPU, as what tells of a GPU is on cores",
    "cores": "physical cores that all its processes have together; empty on a GPU",
    "threads": "threads of this process, one a core of its part; empty on a GPU",
}

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")

Seconds = Annotated[float, Field(gt=0, le=24 * 3600)]


def _known_placeholders(text: str) -> str:
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"is {text!r}; {error}; a brace itself is written twice") from error
    for _, name, form, conversion in fields:
        if name is None:
            continue
        if name not in PLACEHOLDERS or form or conversion:
            known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
            raise ValueError(f"has the placeholder {{{name}}}; known: {known}")
    if "\0" in text:
        raise ValueError("holds a NUL character, which no command line can")
    return text


def _absolute(words: tuple[str, ...]) -> tuple[str, ...]:
    if not PurePosixPath(words[0]).is_absolute() or "{" in words[0]:
        raise ValueError(f"begins with {words[0]!r}; expected the absolute path of a program, without placeholders")
    return words


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"is {name!r}; expected the name of an environment variable")
    if name.startswith("CUDA_MPS_") or name == "CUDA_VISIBLE_DEVICES":
        raise ValueError(f"is {name}, which the agent sets from the plan")
    return name


def _local(url: str) -> str:
    parts = urlsplit(url.replace("{port}", "1"))
    if parts.scheme != "http" or parts.hostname not in LOCAL_HOSTS:
        raise ValueError(f"is {url!r}; expected http:// and one of {', '.join(LOCAL_HOSTS)}")
    return url


Word = Annotated[str, AfterValidator(_known_placeholders)]
Command = Annotated[tuple[Word, ...], Field(min_length=1), AfterValidator(_absolute)]


class HealthCheck(Record):
    """How to ask a process whether it serves: a command that ends with 0, or a local URL that answers 200 to 299."""

    command: Command | None = None
    http: Annotated[Word, AfterValidator(_local)] | None = None
    within_s: Seconds = Field(default=60.0, description="time from the start until it must be healthy")
    interval_s: Seconds = Field(default=1.0, description="pause between two tries")
    timeout_s: Seconds = Field(default=5.0, description="limit of one try")

    @model_validator(mode="after")
    def _one_way(self) -> "HealthCheck":
        if (self.command is None) == (self.http is None):
            raise ValueError("needs either command or http")
        return self


class Standby(Record):
    """
    iGniter's standby process (section 4.2 there): started beside the original, idle, with a larger share of the SMs.

    It waits until the prediction turns out wrong; whoever sends the requests turns to it then, without waiting for a
    start. It needs memory of its own, which plans do not count.
    """

    extra_percent: float = Field(
        default=10.0, gt=0, le=100, description="points of the SMs more than the original, as far as the GPU has them"
    )


class ServiceTemplate(Record):
    """How a workload is started."""

    command: Command
    env: dict[Annotated[str, AfterValidator(_variable)], Word] = Field(default_factory=dict)
    runner: Literal["systemd", "process"] = Field(
        default="systemd", description="systemd: a transient unit; process: a plain process in a session of its own"
    )
    user: str | None = Field(
        default=None, pattern=r"^[a-z_][a-z0-9_-]{0,31}$", description="null: the agent's own user"
    )
    copies: Literal["each", "once", "threads"] = Field(
        default="each",
        description="each: one process for each that the plan counts on; once: the command starts them; threads: one "
        "process with as many instances of the model (Triton: instance_group), which has the caps of all of them",
    )
    ports: tuple[int, int] | None = Field(default=None, description="first and last port to give to {port}")
    health: HealthCheck | None = None
    drain_s: Seconds = Field(default=30.0, description="from the signal to end until the process is killed")
    standby: Standby | None = None

    @model_validator(mode="after")
    def _ports_fit(self) -> "ServiceTemplate":
        if self.ports is not None and not 1024 <= self.ports[0] <= self.ports[1] <= 65535:
            raise ValueError(f"has the ports {list(self.ports)}; expected two numbers of 1024 to 65535, in order")
        health = self.health or HealthCheck(http="http://127.0.0.1/")
        words = (*self.command, *self.env.values(), *(health.command or ()), health.http or "")
        if self.ports is None and any("{port}" in word for word in words):
            raise ValueError("uses {port}, and has no `ports` to take it from")
        return self


def filled(word: str, values: Mapping[str, Any]) -> str:
    """Returns a word of a template with its placeholders replaced; what a value holds is never looked at again."""
    return word.format_map(values)
