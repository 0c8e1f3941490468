"""
What the agent started, one file a service: written before a process starts and again once its id is known.

They lie in the run folder and say of which boot they are, so that after a reboot nothing is taken for running.
"""

from pathlib import Path
from typing import Literal

from ...solver.model.base import Name, Record
from ...solver.model.parsing import parse_record
from ..durable_files import read_bytes_if_there, write_durably
from ..model.node import Service, Slot, service_id
from ..trust.strict_json import parse_json
from .launch import Launch


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
        return Service(
            self.workload, self.start, self.replica, self.processes, self.batch, self.sm_percent, self.memory_mib
        )


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
        device_uuid=device_uuid,
        started=tuple(started),
    )


def record_path(folder: Path, slot: Slot, service: Service) -> Path:
    """Returns where the record of a service lies."""
    return folder / f"{service_id(slot.gpu_index, service)}.json"


def write_record(folder: Path, record: ServiceRecord) -> None:
    """Writes a record."""
    text = record.model_dump_json(indent=1) + "\n"
    write_durably(record_path(folder, record.slot, record.service), text, 0o600)


def read_records(folder: Path, boot_id: str) -> list[ServiceRecord]:
    """Returns the records of this boot; raises InputError if one is damaged."""
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(folder.glob("*.json")):
        data = read_bytes_if_there(path)
        if data is not None:
            record = parse_record(ServiceRecord, parse_json(data, str(path)), str(path))
            if record.boot_id == boot_id:
                found.append(record)
    return found


def remove_record(folder: Path, slot: Slot, service: Service) -> None:
    """Forgets a service, and its file of environment variables."""
    path = record_path(folder, slot, service)
    path.unlink(missing_ok=True)
    path.with_suffix(".env").unlink(missing_ok=True)
