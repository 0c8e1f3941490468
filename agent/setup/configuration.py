"""
The agent's own configuration: which plan it follows, whom it trusts, and how services are started.

It is read as root and names commands that run as root, so it must be a file that only root can change.
"""

import socket
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, field_validator, model_validator

from ...solver.model.base import Name, Record
from ...solver.model.parsing import parse_record, parse_text
from ..files.ownership import OTHERS_WRITE
from ..services.template import Seconds, ServiceTemplate
from ..system.other_managers import Owner
from ..trust.guarded_files import read_guarded
from ..trust.plan_source import PlanSource, refuse_unless_https
from ..trust.strict_json import refusal

DEFAULT_CONFIG = Path("/etc/sliceplan/agent.yaml")

MAX_CONFIG_BYTES = 1024 * 1024

ANY_WORKLOAD = "*"
"""Key of the template of every workload that has none of its own."""


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f"is {str(path)!r}; expected an absolute path")
    return path


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class PlanConfig(Record):
    """Where the plan comes from."""

    source: str = Field(min_length=1, description="absolute path of a file, or an HTTPS URL")
    ca_file: AbsolutePath | None = Field(default=None, description="certificates to trust; null: the system's")
    timeout_s: Seconds = Field(default=10.0, description="limit of one request")
    interval_s: Seconds = Field(default=60.0, description="pause between two looks, for `run`")

    @field_validator("source")
    @classmethod
    def _is_path_or_https(cls, source: str) -> str:
        if "://" in source:
            try:
                refuse_unless_https(source, "it")
            except Exception as error:
                raise ValueError(str(error).removeprefix("it: ")) from error
        else:
            _absolute(Path(source))
        return source


class IgnoredOwner(Record):
    """Another owner that the agent works beside all the same, and why that is right here."""

    owner: Owner
    reason: str = Field(min_length=8, max_length=200)


class MpsDefaults(Record):
    """What every MPS daemon is told at each start; a service's own caps come with its environment and may be lower."""

    active_thread_percentage: float | None = Field(default=None, gt=0, le=100)
    pinned_memory_mib: int | None = Field(default=None, ge=1)


class AgentConfig(Record):
    """The file agent.yaml."""

    version: Literal[1]
    node: Name | None = Field(default=None, description="name in plans; null: the host name up to the first dot")
    plan: PlanConfig
    trusted_keys: AbsolutePath = Field(
        default=Path("/etc/sliceplan/keys"), description="folder of the public keys whose plans are taken"
    )
    device: Literal["nvml", "cores", "nvml+cores", "simulated"] = Field(
        default="nvml", description="nvml: the GPUs of the node are the agent's; cores: its CPUs are; nvml+cores: both"
    )
    simulated_node: AbsolutePath | None = Field(default=None, description="file of a simulated node")
    state_dir: AbsolutePath = Field(default=Path("/var/lib/sliceplan"), description="survives a reboot")
    run_dir: AbsolutePath = Field(default=Path("/run/sliceplan"), description="need not survive a reboot")
    node_lock: AbsolutePath = Field(
        default=Path("/run/sliceplan/node.lock"),
        description="locked by whoever changes the GPUs or CPUs of this node: one and the same for all its agents",
    )
    step_timeout_s: Seconds = Field(default=120.0, description="limit of one call of the driver")
    drain_s: Seconds | None = Field(
        default=None,
        description="how long to wait for processes of others to leave an instance; null: they are not waited for",
    )
    allow_reset: bool = Field(
        default=False, description="whether `run` may reset GPUs and change MIG modes without a person"
    )
    mps: MpsDefaults = MpsDefaults()
    ignore_owners: tuple[IgnoredOwner, ...] = ()
    after_apply: tuple[tuple[str, ...], ...] = Field(
        default=(), description="commands for when a plan was applied: refresh CDI, restart the device plugin"
    )
    services: dict[str, ServiceTemplate] = Field(
        default_factory=dict, description="workload, or '*' for all others -> how it is started"
    )

    @model_validator(mode="after")
    def _device_has_its_file(self) -> "AgentConfig":
        if (self.device == "simulated") != (self.simulated_node is not None):
            raise ValueError("`simulated_node` goes with `device: simulated`, and only with it")
        return self

    @field_validator("after_apply")
    @classmethod
    def _absolute_programs(cls, commands: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        for command in commands:
            if not command or not command[0].startswith("/"):
                raise ValueError(f"has the command {list(command)}; expected one that begins with an absolute path")
        return commands

    @field_validator("services")
    @classmethod
    def _known_names(cls, services: dict[str, ServiceTemplate]) -> dict[str, ServiceTemplate]:
        for name in services:
            if name != ANY_WORKLOAD:
                _workload(name)
        return services

    @property
    def node_name(self) -> str:
        """The node's name in plans."""
        return self.node or socket.gethostname().split(".")[0]

    @property
    def divides_cpus(self) -> bool:
        """Whether the CPUs of the node are the agent's."""
        return self.device in ("cores", "nvml+cores")

    @property
    def plan_source(self) -> PlanSource:
        """Where the plan is read from."""
        return PlanSource(self.plan.source, self.plan.timeout_s, self.plan.ca_file)

    def template(self, workload: str) -> ServiceTemplate | None:
        """Returns how a workload is started; None: the configuration does not say."""
        return self.services.get(workload, self.services.get(ANY_WORKLOAD))


def read_config(path: Path = DEFAULT_CONFIG) -> AgentConfig:
    """
    Reads the configuration.

    Raises
    ------
    InputError
        With every finding; also if others than root and this user could have changed the file.
    """
    data = read_guarded(path, OTHERS_WRITE, MAX_CONFIG_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(str(path), "", f"is not UTF-8 text (byte {error.start})") from error
    return parse_record(AgentConfig, parse_text(text, str(path)), str(path))


def _workload(name: str) -> str:
    try:
        return TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise ValueError(f"has {name!r}; expected the name of a workload, or '*' for all others") from error
