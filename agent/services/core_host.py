"""
Starts, moves, stops and watches the services on cores of this node, each in a slice of its own or by its affinity.

Plain processes (`runner: process`) are kept on their cores by the affinity of their threads, for which a node needs
neither systemd nor cgroups; all others by a slice. How a running service is kept is what its record says, whatever its
template says since.

A service without a template gets its slice and its environment, and is not started: whoever starts it does so there
(`Slice=` of a unit, `systemd-run --slice`, `docker run --cgroup-parent`).
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...solver.model.errors import InputError
from ...solver.model.host_cores import cpu_list, cpus_in
from ..model.core_services import core_text
from ..model.core_steps import CheckOnCores, CoreStep, MoveToCores, StartOnCores, StopOnCores
from ..model.device_error import DeviceError
from ..model.live import RunningOnCores
from ..model.service_environment import core_environment
from ..system.affinity import beyond, move_threads, this_thread_on
from ..system.core_slices import CoreSlices
from ..system.processes import boot_id
from . import plain
from .core_launch import core_launches
from .core_records import CoreRecord, core_record, read_core_records, remove_core_record, write_core_record
from .health import wait_until_healthy
from .host import Templates
from .records import Process, forget_file, write_variables
from .started import end_all, free_ports, pids_by_service, running_pids, runs, start_all


class CoreHost:
    """The services on cores of this node; what runs is kept in files, as by ServiceHost."""

    def __init__(self, templates: Templates, slices: CoreSlices, run_folder: Path, log_folder: Path) -> None:
        self._templates = templates
        self._slices = slices
        self._folder = run_folder / "cores"
        self._environments = run_folder / "services"
        self._log_folder = log_folder

    def records(self) -> list[CoreRecord]:
        """Returns what was started in this boot, whether or not it still runs."""
        try:
            return read_core_records(self._folder, boot_id())
        except InputError as error:
            hint = "Remove the file, once nothing of that service runs"
            raise DeviceError("UNKNOWN", str(error), hint=hint) from error

    def processes(self) -> list[Process]:
        """Returns the processes of all of them, those of incomplete ones too."""
        return [process for record in self.records() for process in record.started]

    def running(self) -> dict[int, list[RunningOnCores]]:
        """Returns the services by their CPUs; not healthy where a process or the slice is gone."""
        found: dict[int, list[RunningOnCores]] = {}
        records = self.records()
        for record, pids in zip(records, pids_by_service([one.started for one in records]), strict=True):
            live = tuple(pid for pid in pids if pid is not None)
            complete = len(live) == len(pids) and (
                record.by_affinity or self._slices.effective(record.name) is not None
            )
            healthy = None if complete else False
            other = self._other_cores(record)
            one = RunningOnCores(record.name, record.service, live, healthy, other, record.by_affinity)
            found.setdefault(record.cpu_index, []).append(one)
        return found

    def start(self, step: StartOnCores) -> None:
        """Starts a service on its cores, which are read back before anything runs; leftovers are ended first."""
        template = self._templates(step.service.workload)
        by_affinity = template is not None and template.runner == "process"
        if not by_affinity:
            self._slices.refuse_without_cpusets()
        if any(one.name == step.name for one in self.records()):
            self._end(step.name, 5.0)
        ports = free_ports(template, self.processes())
        wanted = core_launches(step.name, step.cpu_index, step.service, template, ports) if template else []
        write_variables(self._environments, f"{step.name}.env", core_environment(step.service))

        def note(processes: Sequence[Process]) -> None:
            record = core_record(step, step.cpus, step.memory_nodes, boot_id(), tuple(processes))
            write_core_record(self._folder, record)

        note([Process(launch=launch, pid=None, started=None) for launch in wanted])
        if by_affinity:
            with this_thread_on(cpus_in(step.cpus)):
                start_all(wanted, [], note, self._log_folder)
            self._end_what_left_its_cores(step)
        else:
            self._slices.make(step)
            start_all(wanted, [], note, self._log_folder)

    def move(self, step: MoveToCores) -> None:
        """Gives a service other cores while it runs, and reads them back; noted first."""
        record = self._record(step)
        if record.service.kind != step.service.kind:
            raise DeviceError("INVALID_ARGUMENT", f"{_text(step)} runs with other settings, which only a start takes")
        write_core_record(self._folder, core_record(step, step.cpus, step.memory_nodes, record.boot_id, record.started))
        if record.by_affinity:
            move_threads(partial(_processes_of, record), cpus_in(step.cpus))
        else:
            self._slices.move(step)

    def check(self, step: CheckOnCores, timeout_s: float) -> None:
        """Waits until every process of a service is healthy."""
        for process in self._record(step).started:
            name = f"{_text(step)} ({process.launch.unit})"
            if process.launch.health:
                wait_until_healthy(process.launch.health, timeout_s, partial(runs, process), name)
            elif not runs(process):
                raise DeviceError("UNKNOWN", f"{name} ended right after it was started", hint="Its log says why")

    def stop(self, step: StopOnCores, timeout_s: float) -> None:
        """Ends a service: asks its processes, waits as long as its template says, and ends its slice if it has one."""
        self._record(step)
        self._end(step.name, timeout_s)

    def _end(self, name: str, timeout_s: float) -> None:
        records = [one for one in self.records() if one.name == name]
        end_all([process for one in records for process in one.started], name, timeout_s)
        if not all(one.by_affinity for one in records):
            self._slices.end(name)
        remove_core_record(self._folder, name)
        forget_file(self._environments, f"{name}.env")

    def _other_cores(self, record: CoreRecord) -> str | None:
        """Returns what the kernel lets a service have, in words, if that is not what it was given; None: it is."""
        if not record.by_affinity:
            return self._slices.other_cores(record.name, record.cpus, record.memory_nodes)
        others = beyond(_processes_of(record), cpus_in(record.cpus))
        return f"its threads may run on CPUs {cpu_list(others)}, too, not on {record.cpus} alone" if others else None

    def _end_what_left_its_cores(self, step: StartOnCores) -> None:
        """Ends a service whose processes gave themselves other cores as they started; raises DeviceError then."""
        if other := self._other_cores(self._record(step)):
            self._end(step.name, 5.0)
            hint = "It sets its affinity itself; let it keep the one that it is started with"
            raise DeviceError("INVALID_ARGUMENT", f"{_text(step)} was ended: {other}", hint=hint)

    def _record(self, step: CoreStep) -> CoreRecord:
        for record in self.records():
            if record.name == step.name and record.cpu_index == step.cpu_index:
                return record
        raise DeviceError("NOT_FOUND", f"{_text(step)} does not run")


def _processes_of(record: CoreRecord) -> set[int]:
    """Returns every process that belongs to a service of plain processes now."""
    return plain.of_service(running_pids(record.started), record.name)


def _text(step: CoreStep) -> str:
    return f"CPU {step.cpu_index}: {step.service.workload} on {core_text(step.service)}"
