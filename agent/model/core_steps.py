"""
The steps that bring the services of a CPU to the cores that a plan wants, so that no core is given twice at any moment.

What goes is stopped first; then services move that keep their settings and change their cores, while they run; then the
rest starts, and is asked for its health. A move waits until nobody else has one of its new cores. Where moves wait for
each other in a ring, one of them goes by way of free cores, once; where there are none, the smallest of them is stopped
and starts again at the end.

Why that ends: a move to its place ends a service's wait, a detour leads to cores that nobody waits for and is taken
once a service, and a stop takes a service out. Why no core is given twice: each of these steps takes cores that are
free, and cores are given up by steps before.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from ...solver.model.catalogue import load_cpus
from ...solver.model.core_partitions import CoreTree
from .core_services import CoreService, CpuState, by_place, logical_cpus, memory_nodes
from .device_key import DeviceKey, cpu_key
from .live import LiveCpu, RunningOnCores


@dataclass(frozen=True)
class CoreStep:
    """A step on one service on cores."""

    cpu_index: int
    name: str
    """Name of the running service for files and units, which it keeps wherever it moves."""
    service: CoreService

    @property
    def device(self) -> DeviceKey:
        """The CPU that it is about."""
        return cpu_key(self.cpu_index)


@dataclass(frozen=True)
class PlacedStep(CoreStep):
    """A step that gives cores to a service."""

    cpus: str
    """Logical CPUs of its cores on this host, as `0-3,96-99`."""
    memory_nodes: str
    """NUMA nodes of its cores, likewise."""


@dataclass(frozen=True)
class StartOnCores(PlacedStep):
    """Starts a service on its cores: its units are confined to them from their first instruction on."""


@dataclass(frozen=True)
class MoveToCores(PlacedStep):
    """Gives a running service other cores, as many as it had; or the same, where the kernel lets it have others."""

    moved_from: int
    """The first of the cores that it had."""


@dataclass(frozen=True)
class StopOnCores(CoreStep):
    """Lets a service on cores finish what it works on, and ends it."""


@dataclass(frozen=True)
class CheckOnCores(CoreStep):
    """Waits until a service on cores that was started is healthy; changes nothing."""


OnCpu = StartOnCores | MoveToCores | StopOnCores | CheckOnCores


def core_steps_between(index: int, before: LiveCpu, after: CpuState) -> list[OnCpu]:
    """Returns the steps from what a CPU runs to what is wanted of it; its host must be like the plan's CPU."""
    return list(_Way(index, before, after).steps())


def running_name(workload: str, cpu_index: int, taken: Collection[str]) -> str:
    """Returns a name for files and units that no service of the node has."""
    first = f"{workload}-{cpu_key(cpu_index)}"
    return next(name for number in range(1, len(taken) + 2) if (name := _numbered(first, number)) not in taken)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


class _Way:
    """The way of one CPU; `now` is what has cores at the moment that the next step begins."""

    def __init__(self, index: int, before: LiveCpu, after: CpuState) -> None:
        self._index, self._cores, self._cpu = index, before.cores, after.cpu
        self.now = {one.name: one.service for one in before.services}
        self._stray = {one.name for one in before.services if one.found_on is not None}
        self._ends = _paired([one for one in before.services if one.healthy is not False], after)
        kept = set(self._ends.values())
        self._coming = by_place(one for one in after.services if one not in kept)

    def steps(self) -> Iterator[OnCpu]:
        for name, service in sorted(self.now.items(), key=lambda item: item[1].start):
            if name not in self._ends:
                yield self._stop(name, service)
        for name in sorted(self._stray & self._ends.keys()):
            yield self._move(name, self.now[name])
        yield from self._moves()
        started = [self._start(service) for service in by_place(self._coming)]
        yield from started
        yield from (CheckOnCores(one.cpu_index, one.name, one.service) for one in started)

    def _moves(self) -> Iterator[MoveToCores | StopOnCores]:
        went_round: set[str] = set()
        while waiting := {name: end for name, end in self._ends.items() if self.now[name] != end}:
            ready = [name for name, end in waiting.items() if self._is_free(end, name)]
            if ready:
                name = min(ready, key=lambda one: waiting[one].start)
                yield self._move(name, waiting[name])
                continue
            smallest = sorted(waiting, key=lambda one: (waiting[one].cores, waiting[one].start))
            detours = ((name, self._detour(name, waiting)) for name in smallest if name not in went_round)
            name, place = next(((name, place) for name, place in detours if place), (smallest[0], None))
            if place is not None:
                went_round.add(name)
                yield self._move(name, place)
            else:
                self._coming.append(self._ends.pop(name))
                yield self._stop(name, self.now[name])

    def _detour(self, name: str, waiting: dict[str, CoreService]) -> CoreService | None:
        """Returns a place on cores that nobody has and nobody waits for; None: there is none."""
        service, tree = self.now[name], CoreTree.of(load_cpus()[self._cpu])
        taken = {core for place in (*self.now.values(), *waiting.values()) for core in place.held}
        for start in range(len(self._cores) - service.cores + 1):
            if taken.isdisjoint(range(start, start + service.cores)) and tree.stands_well(start, service.cores):
                return replace(service, start=start)
        return None

    def _is_free(self, place: CoreService, own: str) -> bool:
        """Tells whether nobody else has one of the cores of a place."""
        return all(name == own or set(other.held).isdisjoint(place.held) for name, other in self.now.items())

    def _stop(self, name: str, service: CoreService) -> StopOnCores:
        del self.now[name]
        return StopOnCores(self._index, name, service)

    def _move(self, name: str, place: CoreService) -> MoveToCores:
        start = self.now[name].start
        self.now[name] = place
        return MoveToCores(self._index, name, place, *self._host(place), start)

    def _start(self, service: CoreService) -> StartOnCores:
        name = running_name(service.workload, self._index, self.now)
        self.now[name] = service
        return StartOnCores(self._index, name, service, *self._host(service))

    def _host(self, place: CoreService) -> tuple[str, str]:
        return logical_cpus(self._cores, place), memory_nodes(self._cores, place)


def _paired(running: list[RunningOnCores], after: CpuState) -> dict[str, CoreService]:
    """Returns which running services go on as which wanted ones: in their places if they can, else by their order."""
    left = set(after.services)
    ends: dict[str, CoreService] = {}
    for one in sorted(running, key=lambda one: one.service.start):
        if one.service in left:
            ends[one.name] = one.service
            left.remove(one.service)
    for one in sorted(running, key=lambda one: one.service.start):
        alike = by_place(wanted for wanted in left if wanted.kind == one.service.kind)
        if one.name not in ends and alike:
            ends[one.name] = alike[0]
            left.remove(alike[0])
    return ends
