"""
What the agent started on cores, one file a service: written before its slice is made, and before it moves.

They lie in the run folder and say of which boot they are, as the records of services on GPUs do (records.py).
"""

from pathlib import Path
from typing import Literal

from ...solver.model.base import Name, Record
from ..files.guarded_folder import GuardedFolder
from ..model.core_services import CoreService
from ..model.core_steps import CoreStep
from .records import Process, prepared, read_all


class CoreRecord(Record):
    """A service on cores as it was started, with the cores that it was given last."""

    version: Literal[1]
    boot_id: str
    name: str
    cpu_index: int
    workload: Name
    start: int
    cores: int
    processes: int
    batch: int
    cpus: str
    """Logical CPUs of its cores, as they were asked for."""
    memory_nodes: str
    started: tuple[Process, ...]
    """Empty: it has no template, and only its slice and its environment were made."""

    @property
    def service(self) -> CoreService:
        """Its settings and its place."""
        return CoreService(self.workload, self.start, self.cores, self.processes, self.batch)

    @property
    def by_affinity(self) -> bool:
        """Whether it was started as plain processes, which the affinity of their threads keeps on its cores."""
        return any(one.launch.runner == "process" for one in self.started)


def core_record(
    step: CoreStep, cpus: str, memory_nodes: str, boot_id: str, started: list[Process] | tuple[Process, ...]
) -> CoreRecord:
    """Returns the record of the service of a step."""
    service = step.service
    return CoreRecord(
        version=1,
        boot_id=boot_id,
        name=step.name,
        cpu_index=step.cpu_index,
        workload=service.workload,
        start=service.start,
        cores=service.cores,
        processes=service.processes,
        batch=service.batch,
        cpus=cpus,
        memory_nodes=memory_nodes,
        started=tuple(started),
    )


def write_core_record(folder: Path, record: CoreRecord) -> None:
    """Writes a record."""
    prepared(folder).write(f"{record.name}.json", record.model_dump_json(indent=1).encode() + b"\n")


def read_core_records(folder: Path, boot_id: str) -> list[CoreRecord]:
    """Returns the records of this boot; raises InputError if one is damaged, or could be others' work."""
    return [record for record in read_all(folder, CoreRecord) if record.boot_id == boot_id]


def remove_core_record(folder: Path, name: str) -> None:
    """Forgets a service on cores."""
    GuardedFolder(folder).remove(f"{name}.json")
