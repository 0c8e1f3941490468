"""The state of a node for a person, on 80 columns."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...solver.model.words import counted, counted_boards
from ..model.core_services import by_place, core_text
from ..model.device_key import device_text
from ..model.live import LiveCpu, LiveGpu, RunningService, cpus_of, gpus_of
from ..model.node import place_text, service_id, service_text
from .report import Report


def status_text(report: Report) -> Iterator[str]:
    """Yields the lines of a report."""
    driver = f", driver {report.driver}" if report.driver else ""
    gpus, cpus = gpus_of(report.live), cpus_of(report.live)
    yield f"Node {report.node}: {counted_boards(len(gpus), len(cpus))}{driver}"
    for index, gpu in sorted(gpus.items()):
        yield ""
        yield from _gpu_lines(index, gpu, report)
    for key, cpu in cpus.items():
        yield ""
        yield from _cpu_lines(device_text(key), cpu, report)
    others = [one for one in report.daemons if not _is_own(one.pid, report)]
    if others:
        yield ""
        yield "MPS daemons of others"
        yield from (f"  pid {one.pid}  {one.folder or 'default folder'}" for one in others)
    yield ""
    yield from _plan_lines(report)
    if report.owners:
        yield "Other owners; the agent changes nothing beside them:"
        yield from (f"  {trace}" for trace in report.owners)
    else:
        yield "Other owners: none found."
    yield from (f"! {problem}" for problem in report.problems)


def _gpu_lines(index: int, gpu: LiveGpu, report: Report) -> Iterator[str]:
    mode = "on" if gpu.mig_enabled else "off"
    due = f", {'on' if gpu.mig_pending else 'off'} after a reset" if gpu.mig_pending != gpu.mig_enabled else ""
    yield f"GPU {index}  {gpu.gpu}  MIG {mode}{due}  {gpu.uuid}"
    if gpu.instances:
        yield f"  {'start':>5}  {'profile':<15} {'id':>3}  UUID"
    for one in sorted(gpu.instances, key=lambda one: one.start):
        yield f"  {one.start:>5}  {one.profile:<15} {one.gi_id:>3}  {one.uuid or 'not usable: no compute instance'}"
    for daemon in sorted(gpu.daemons, key=lambda one: -1 if one.start is None else one.start):
        yield f"  MPS daemon of {place_text(daemon.start)}, pid {daemon.pid}"
    for running in gpu.services:
        yield from _service_lines(index, running, report)
    for client in gpu.clients:
        name = f" ({client.name})" if client.name else ""
        yield f"  process of others: pid {client.pid}{name} in {place_text(client.start)}"


def _service_lines(index: int, running: RunningService, report: Report) -> Iterator[str]:
    service = running.service
    cap = f", at most {service.sm_percent:g} % each" if service.sm_percent is not None else ""
    yield f"  service {service_text(service)} in {place_text(service.start)}{cap}"
    yield _process_line(running.pids, service_id(index, service) in report.unstarted)


def _process_line(pids: Sequence[int], unstarted: bool) -> str:
    """Returns what runs of a service."""
    if unstarted:
        return "    not started: no template"
    return f"    pid {', '.join(map(str, pids))}" if pids else "    ! ended: none of its processes runs any more"


def _cpu_lines(name: str, cpu: LiveCpu, report: Report) -> Iterator[str]:
    domains, nodes = {core.l3 for core in cpu.cores}, {core.node for core in cpu.cores}
    yield (
        f"{name}  {counted(len(cpu.cores), 'core')}, {counted(len(domains), 'L3 cache')}, "
        f"{counted(len(nodes), 'NUMA node')}"
    )
    places = {one.service: one for one in cpu.services}
    for service in by_place(places):
        running = places[service]
        yield f"  service {service.workload} on {core_text(service)}, {counted(service.threads, 'thread')} a process"
        yield _process_line(running.pids, running.name in report.unstarted)
        if running.found_on is not None:
            yield f"    ! not confined to them: {running.found_on}"


def _plan_lines(report: Report) -> Iterator[str]:
    plan: dict[str, Any] = (report.applied or {}).get("plan") or {}
    if report.applied is None:
        yield "Plan: none was applied yet."
    elif plan:
        number = f", number {plan['sequence']}" if plan.get("sequence") is not None else ""
        yield f"Plan: {plan.get('source')}{number}, applied {report.applied.get('when')}"
    else:
        yield f"Plan: none; rolled back to what was there before, {report.applied.get('when')}"
    if report.drift:
        yield "! The node differs from what was applied; `sliceplan-agent run` or `apply` repairs it:"
        yield from (f"    {text}" for text in report.drift)
    elif report.drift is not None:
        yield "The node has what was applied."
    if report.unfinished:
        reason = f" ({report.unfinished['reason']})" if report.unfinished["reason"] else ""
        yield f"! A transition has not ended; it goes {report.unfinished['goes']}{reason}."
        yield "  Where no agent is at work on it, `sliceplan-agent apply` or `run` takes it up,"
        yield "  and `rollback` undoes it."
    if report.doing:
        reason = f": {report.doing['reason']}" if report.doing.get("reason") else ""
        yield f"Agent: {report.doing.get('doing')}{reason} ({report.doing.get('when')})"


def _is_own(pid: int, report: Report) -> bool:
    return any(daemon.pid == pid for gpu in gpus_of(report.live).values() for daemon in gpu.daemons)
