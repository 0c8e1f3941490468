"""
What the agent started, one file a service: written before a process starts and again once its id is known.

They lie in the run folder and say of which boot they are, so that after a reboot nothing is taken for running.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from ...solver.model.base import Name, Record
from ...solver.model.parsing import parse_record
from ..files.guarded_folder import GuardedFolder
from ..model.node import Round, Service, Slot, service_id
from ..trust.strict_json import parse_json
from .launch import Launch

RecordT = TypeVar("RecordT", bound=Record)


class Process(Record):
    """A process of a service."""

    launch: Launch
    pid: int | None
    """None: not started, or a unit of systemd, which knows it."""
    started: int | None
    """Start time in clock ticks since boot, which tells the process from a later one of the same id."""


class ServiceRecord(Record):
    """A service as it was started."""

    version: Literal[1]
    boot_id: str
    gpu_index: int
    workload: Name
    start: int | None
    replica: int
    processes: int
    batch: int
    sm_percent: float | None
    memory_mib: float | None
    round: Round | None = None
    device_uuid: str
    started: tuple[Process, ...]
    """Empty: it has no template, and only its environment was written."""

    @property
    def slot(self) -> Slot:
        """Where it runs."""
        return Slot(self.gpu_index, self.start)

    @property
    def service(self) -> Service:
        """Its settings."""
        cap, memory = self.sm_percent, self.memory_mib
        return Service(self.workload, self.start, self.replica, self.processes, self.batch, cap, memory, self.round)


def record_of(slot: Slot, service: Service, device_uuid: str, boot_id: str, started: list[Process]) -> ServiceRecord:
    """Returns the record of a service."""
    return ServiceRecord(
        version=1,
        boot_id=boot_id,
        gpu_index=slot.gpu_index,
        workload=service.workload,
        start=slot.start,
        replica=service.replica,
        processes=service.processes,
        batch=service.batch,
        sm_percent=service.sm_percent,
        memory_mib=service.memory_mib,
        round=service.round,
        device_uuid=device_uuid,
        started=tuple(started),
    )


def record_path(folder: Path, slot: Slot, service: Service) -> Path:
    """Returns where the record of a service lies."""
    return folder / f"{service_id(slot.gpu_index, service)}.json"


def write_record(folder: Path, record: ServiceRecord) -> None:
    """Writes a record."""
    name = record_path(folder, record.slot, record.service).name
    prepared(folder).write(name, record.model_dump_json(indent=1).encode() + b"\n")


def write_environment(folder: Path, slot: Slot, service: Service, variables: Mapping[str, str]) -> None:
    """Writes the environment of a service, for whoever starts one without a template."""
    write_variables(folder, record_path(folder, slot, service).with_suffix(".env").name, variables)


def write_variables(folder: Path, name: str, variables: Mapping[str, str]) -> None:
    """Writes a file of environment variables, which others may read."""
    prepared(folder).write(name, "".join(f"{key}={value}\n" for key, value in variables.items()).encode(), 0o644)


def read_records(folder: Path, boot_id: str) -> list[ServiceRecord]:
    """Returns the records of this boot; raises InputError if one is damaged, or could be others' work."""
    return [record for record in read_all(folder, ServiceRecord) if record.boot_id == boot_id]


def read_all(folder: Path, kind: type[RecordT]) -> list[RecordT]:
    """Returns the records of a folder, by their file names; raises as `read_records`."""
    guarded = GuardedFolder(folder)
    found = []
    for name in guarded.names():
        data = guarded.read(name) if name.endswith(".json") else None
        if data is not None:
            source = str(folder / name)
            found.append(parse_record(kind, parse_json(data, source), source))
    return found


def remove_record(folder: Path, slot: Slot, service: Service) -> None:
    """Forgets a service, and its file of environment variables."""
    path = record_path(folder, slot, service)
    for name in (path.name, path.with_suffix(".env").name):
        GuardedFolder(folder).remove(name)


def forget_file(folder: Path, name: str) -> None:
    """Removes a file of a folder, if it is there."""
    GuardedFolder(folder).remove(name)


def prepared(folder: Path) -> GuardedFolder:
    """Returns the folder, which others may read: the environments are for them."""
    guarded = GuardedFolder(folder, 0o755)
    guarded.prepare()
    return guarded
