"""
Starts, stops and watches the services of this node.

A service without a template is not started: its environment is written to a file, for whoever starts it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ...solver.model.errors import InputError
from ..model.device_error import DeviceError
from ..model.live import RunningService
from ..model.node import Service, Slot, service_id, service_text
from ..model.service_environment import service_environment
from ..system.processes import boot_id
from .health import wait_until_healthy
from .launch import Launch, SlotDevice, launches, standby_launches
from .records import Process, ServiceRecord, read_records, record_of, remove_record, write_environment, write_record
from .started import end_all, free_ports, pids_by_service, running_pids, runs, start_all
from .template import ServiceTemplate

Templates = Callable[[str], ServiceTemplate | None]
"""Workload -> how it is started; None: nothing says how."""


class ServiceHost:
    """The services of this node; what runs is kept in files, so that any number of these objects see the same."""

    def __init__(
        self,
        templates: Templates,
        run_folder: Path,
        log_folder: Path,
        beside: Callable[[], Sequence[Process]] = tuple,
    ) -> None:
        """
        Parameters
        ----------
        beside
            Returns processes of other services of the node, whose ports are taken, too.
        """
        self._templates = templates
        self._beside = beside
        self._folder = run_folder / "services"
        self._log_folder = log_folder

    def records(self) -> list[ServiceRecord]:
        """Returns what was started in this boot, whether or not it still runs."""
        try:
            return read_records(self._folder, boot_id())
        except InputError as error:
            hint = "Remove the file, once nothing of that service runs"
            raise DeviceError("UNKNOWN", str(error), hint=hint) from error

    def running(self) -> dict[Slot, list[RunningService]]:
        """
        Returns the services that were started, as not healthy where a process of theirs does not run.

        What a kill in the middle of a start left behind is among them, so that it gets stopped. A service without a
        template has no processes.
        """
        found: dict[Slot, list[RunningService]] = {}
        records = self.records()
        for record, pids in zip(records, pids_by_service([one.started for one in records]), strict=True):
            live = tuple(pid for pid in pids if pid is not None)
            healthy = None if len(live) == len(pids) else False
            found.setdefault(record.slot, []).append(RunningService(record.service, live, healthy))
        return found

    def pids(self) -> set[int]:
        """Returns every process that runs for a service, those of incomplete ones too."""
        return running_pids([one for record in self.records() for one in record.started])

    def start(self, slot: Slot, service: Service, device: SlotDevice) -> None:
        """Starts a service; what is left of an earlier start of it is ended first."""
        self._end_leftovers(slot, service)
        self._write_environment(slot, service, device)
        template = self._templates(service.workload)
        wanted = launches(slot, service, template, device, self._free_ports(template)) if template else []
        self._start_all(slot, service, device, [], wanted)

    def check_health(self, slot: Slot, service: Service, device: SlotDevice, timeout_s: float) -> None:
        """Waits until every process of a service is healthy, and starts its standby processes then."""
        record = self._record(slot, service)
        for process in record.started:
            name = f"{service_text(service)} ({process.launch.unit})"
            if process.launch.health:
                wait_until_healthy(process.launch.health, timeout_s, partial(runs, process), name)
            elif not runs(process):
                raise DeviceError("UNKNOWN", f"{name} ended right after it was started", hint="Its log says why")
        template = self._templates(service.workload)
        if template is not None and not any(one.launch.role == "standby" for one in record.started):
            taken = sum((one.sm_percent or 0.0) * one.processes for one in self.records() if one.slot == slot)
            standby = standby_launches(slot, service, template, device, self._free_ports(template), taken)
            self._start_all(slot, service, device, list(record.started), standby)

    def stop(
        self, slot: Slot, service: Service, timeout_s: float, before_kill: Callable[[list[int]], None] = lambda _: None
    ) -> None:
        """Ends a service: asks its processes, waits as long as its template says, kills what is left."""
        record = self._record(slot, service)
        end_all(record.started, service_id(slot.gpu_index, service), timeout_s, before_kill)
        remove_record(self._folder, slot, service)

    def _start_all(
        self, slot: Slot, service: Service, device: SlotDevice, done: list[Process], wanted: Sequence[Launch]
    ) -> None:
        """Starts processes one after the other; each is noted before it starts."""

        def note(processes: list[Process]) -> None:
            write_record(self._folder, record_of(slot, service, device.uuid, boot_id(), processes))

        start_all(wanted, done, note, self._log_folder)

    def _end_leftovers(self, slot: Slot, service: Service) -> None:
        name = service_id(slot.gpu_index, service)
        left = [one for one in self.records() if service_id(one.gpu_index, one.service) == name]
        end_all([process for record in left for process in record.started], name, 5.0)

    def _record(self, slot: Slot, service: Service) -> ServiceRecord:
        for record in self.records():
            if record.slot == slot and record.service.identity == service.identity:
                return record
        raise DeviceError("NOT_FOUND", f"GPU {slot.gpu_index} does not run {service_text(service)}")

    def _write_environment(self, slot: Slot, service: Service, device: SlotDevice) -> None:
        variables = service_environment(service, device.mps_folder, device.uuid)
        write_environment(self._folder, slot, service, variables)

    def _free_ports(self, template: ServiceTemplate | None) -> Iterator[int]:
        return free_ports(template, [*(one for record in self.records() for one in record.started), *self._beside()])
