"""
From the order in which tenancies come and go to steps and what each of them waits for.

The order is safe if it is followed one by one. A step waits for as little as makes every other order that the graph
allows safe too:

- Within a tenancy: create, start, redirect; and redirect, drain, stop, destroy.
- On a GPU: a MIG instance is created after all that are destroyed before it in the order, so that it meets only what
  stands beside it there too; shares and whole GPUs start after others have stopped if they cannot run beside all that
  they may meet; the mode changes on an empty GPU only. An instance that the next tenancy can use as it is stays, and
  one is destroyed only where it is in the way.
- On a CPU: processes start on cores, or are moved to them, after all that had one of these cores before has stopped or
  been moved. What is moved serves all the while, on both sets of cores at once as far as others are concerned.
- Of a service: requests are redirected from its partitions one after the other, in the order, and each time
  only after so many new partitions have begun to serve that what is left is enough. Why that is enough: of the
  redirections that have been made at some moment, take the last one in the order. It waited for the partitions that
  the order's prefix up to it needs, and those before it in the order are the only ones made. So the capacity is at
  least what the prefix leaves.

Steps wait for steps before them in the list only, so the graph has no cycle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.catalogue import load_catalogue
from ..model.division import FULL_PERCENT
from ..model.geometry import Placement
from ..model.problem import Sharing
from ..model.transition import StepKind
from .room import fits_placement, overlap, placement, share_cores
from .tenancies import Tenancy
from .world import SLACK, THERE_AT_FIRST, World


@dataclass
class UntimedStep:
    """A step that has no time yet."""

    kind: StepKind
    gpu: int
    tenancy: Tenancy
    item: int
    after: tuple[int, ...]
    mode: Sharing | None = None
    needs_reset: bool = False
    origin: int | None = None
    """repin: the item at the cores that it had; the step is of the one at those that it gets."""


@dataclass
class _Instance:
    """A MIG instance that stands on a GPU in the course of the order."""

    tenancy: Tenancy
    created: int | None
    """The step; None: it stood before."""
    free_after: int | None = None
    """The step that stopped its last tenancy; None: it is in use, or was never."""
    vacant: bool = False
    destroyed: int | None = None


@dataclass
class _Gpu:
    """What the order has made of a GPU so far."""

    mode: Sharing | None
    mode_step: int | None = None
    standing: dict[Placement, _Instance] = field(default_factory=dict)
    gone: list[_Instance] = field(default_factory=list)
    """Instances destroyed since the mode changed last."""
    stopped: list[tuple[Tenancy, int]] = field(default_factory=list)
    """Shares, cores and whole GPUs that were given up since then, with the steps that did so."""
    running: dict[int, Tenancy] = field(default_factory=dict)
    """Shares, cores and whole GPUs in use, by item."""


@dataclass
class _Service:
    """What the order has made of a service so far."""

    enough: float
    """Capacity that the redirections so far can count on, less what is required, requests/s."""
    last: int | None = None
    """The last step that redirected requests from one of its partitions."""
    ready: list[tuple[int, int, float]] = field(default_factory=list)
    """Partitions that have begun to serve and on which no redirection relies: item, step, requests/s; in order."""


def as_steps(world: World, before: Mapping[str, float]) -> list[UntimedStep]:
    """
    Returns the steps of a finished world's order.

    Parameters
    ----------
    before
        Capacity of each service at the beginning, requests/s.
    """
    return _Graph(world, before).steps


class _Graph:
    """Walks through the events once."""

    def __init__(self, world: World, before: Mapping[str, float]) -> None:
        self.world = world
        self.steps: list[UntimedStep] = []
        self.gpus = _initial(world)
        self.services: dict[str, _Service] = {
            workload: _Service(before[workload] - required) for workload, required in world.required.items()
        }
        self.started: dict[int, int] = {}
        """The step that made an item begin to serve, or be ready for it."""
        self.repinned: set[int] = set()
        """Items that have moved to other cores."""
        for event in world.events:
            if event.brings:
                self._bring(event.item)
            else:
                self._take(event.item)
        for g in range(len(world.real)):
            for instance in [one for one in self.gpus[g].standing.values() if one.vacant]:
                self._destroy(g, instance)

    def _emit(
        self,
        kind: StepKind,
        item: int,
        after: Sequence[int | None],
        mode: Sharing | None = None,
        needs_reset: bool = False,
    ) -> int:
        known = tuple(sorted({step for step in after if step is not None}))
        one = self.world.items[item]
        self.steps.append(UntimedStep(kind, one.gpu, one.tenancy, item, known, mode, needs_reset))
        return len(self.steps) - 1

    def _bring(self, i: int) -> None:
        item = self.world.items[i]
        gpu = self.gpus[item.gpu]
        if gpu.mode != item.tenancy.sharing:
            self._change_mode(i)
        if (origin := item.origin) is not None and origin in gpu.running:
            self._repin(i, origin)
            return
        sharing = item.tenancy.sharing
        ready = self._instance(i) if sharing == "mig" else self._cores(i) if sharing == "cores" else self._share(i)
        if item.tenancy.serves:
            serves = self._emit("redirect", i, [self._emit("start", i, ready)])
            ready = [serves]
            for workload, capacity in item.tenancy.capacity:
                if workload in self.services:
                    self.services[workload].ready.append((i, serves, capacity))
        # What is kept free on a GPU that is as it should be takes no step at all.
        if known := [step for step in ready if step is not None]:
            self.started[i] = max(known)

    def _repin(self, i: int, origin: int) -> None:
        """Gives what runs other cores; its services have the same all the while."""
        gpu = self.gpus[self.world.items[i].gpu]
        moved = self._emit("repin", i, self._cores(i))
        self.steps[moved].origin = origin
        gpu.stopped.append((gpu.running.pop(origin), moved))
        self.repinned.add(origin)
        self.started[i] = moved

    def _take(self, i: int) -> None:
        item = self.world.items[i]
        if i in self.repinned:
            return
        stopped = self.started.get(i)
        if item.tenancy.serves:
            away = self._emit("redirect", i, self._waits(i))
            for workload in item.tenancy.workloads:
                if workload in self.services:
                    self.services[workload].last = away
            stopped = self._emit("stop", i, [self._emit("drain", i, [away])])
        gpu = self.gpus[item.gpu]
        if item.tenancy.sharing == "mig":
            instance = gpu.standing[placement(item.tenancy)]
            instance.vacant, instance.free_after = True, stopped
        else:
            del gpu.running[i]
            if stopped is not None:
                gpu.stopped.append((item.tenancy, stopped))

    def _waits(self, i: int) -> list[int | None]:
        """Returns what redirecting requests from an item waits for."""
        waits: list[int | None] = [self.started.get(i)]
        for workload, capacity in self.world.items[i].tenancy.capacity:
            service = self.services.get(workload)
            if service is None:
                continue
            waits.append(service.last)
            own = [entry for entry in service.ready if entry[0] == i]
            service.ready = [entry for entry in service.ready if entry[0] != i]
            # What this item brought itself counts only now that its redirection has been waited for.
            service.enough += sum(entry[2] for entry in own) - capacity
            tolerance = SLACK * self.world.required[workload]
            while service.enough < -tolerance and service.ready:
                _, step, gained = service.ready.pop(0)
                service.enough += gained
                waits.append(step)
        return waits

    def _change_mode(self, i: int) -> None:
        """Empties a GPU's books and switches it; everything on it has been taken before."""
        item = self.world.items[i]
        gpu = self.gpus[item.gpu]
        for instance in list(gpu.standing.values()):
            self._destroy(item.gpu, instance)
        waits = [instance.destroyed for instance in gpu.gone] + [step for _, step in gpu.stopped] + [gpu.mode_step]
        before, gpu.mode = gpu.mode, item.tenancy.sharing
        gpu.gone, gpu.stopped = [], []
        if before is None and gpu.mode == "exclusive":
            return  # an idle GPU is ready to be used whole
        mig = "mig" in (before, gpu.mode)
        ampere = load_catalogue()[self.world.real[item.gpu].gpu].architecture == "Ampere"
        gpu.mode_step = self._emit("change_mode", i, waits, mode=gpu.mode, needs_reset=mig and ampere)

    def _instance(self, i: int) -> list[int | None]:
        """Makes a MIG instance stand where an item wants it; returns what its use waits for."""
        item = self.world.items[i]
        gpu, name, place = self.gpus[item.gpu], self.world.real[item.gpu].gpu, placement(item.tenancy)
        standing = gpu.standing.get(place)
        if standing is not None:
            standing.vacant = False
            return [standing.free_after, standing.created, gpu.mode_step]
        vacant = [one for one in gpu.standing.values() if one.vacant]
        for instance in [one for one in vacant if overlap(name, placement(one.tenancy), place)]:
            self._destroy(item.gpu, instance)
        if not fits_placement(name, tuple(sorted(gpu.standing)), place):
            for instance in [one for one in vacant if one.destroyed is None]:
                self._destroy(item.gpu, instance)
        created = self._emit("create", i, [*(one.destroyed for one in gpu.gone), gpu.mode_step])
        gpu.standing[place] = _Instance(item.tenancy, created)
        return [created]

    def _destroy(self, g: int, instance: _Instance) -> None:
        gpu = self.gpus[g]
        del gpu.standing[placement(instance.tenancy)]
        self.steps.append(
            UntimedStep(
                "destroy",
                g,
                instance.tenancy,
                -1,
                tuple(sorted({step for step in (instance.free_after, instance.created) if step is not None})),
            )
        )
        instance.destroyed = len(self.steps) - 1
        gpu.gone.append(instance)

    def _cores(self, i: int) -> list[int | None]:
        """Returns what the start on cores, or the move to them, waits for: whoever had one of them before."""
        item = self.world.items[i]
        gpu = self.gpus[item.gpu]
        gpu.running[i] = item.tenancy
        return [step for one, step in gpu.stopped if share_cores(one, item.tenancy)]

    def _share(self, i: int) -> list[int | None]:
        """Returns what the start of a share, or on a whole GPU, waits for."""
        item = self.world.items[i]
        gpu = self.gpus[item.gpu]
        waits: list[int | None] = [gpu.mode_step]
        meets = [*gpu.running.values(), *(one for one, _ in gpu.stopped), item.tenancy]
        if sum(one.percent for one in meets) > FULL_PERCENT:
            waits += [step for _, step in gpu.stopped]
        gpu.running[i] = item.tenancy
        return waits


def _initial(world: World) -> list[_Gpu]:
    """Returns the GPUs as they are before the first event."""
    gpus = [_Gpu(gpu.sharing) for gpu in world.real]
    for i, item in enumerate(world.items):
        if item.role in THERE_AT_FIRST:
            if item.tenancy.sharing == "mig":
                gpus[item.gpu].standing[placement(item.tenancy)] = _Instance(item.tenancy, None)
            else:
                gpus[item.gpu].running[i] = item.tenancy
    return gpus
