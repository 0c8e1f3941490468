"""
In which order tenancies come and go, so that no service ever has less than it needs.

What leaves is taken only when its room is wanted for something that comes and its services have enough without it;
what is left is taken at the end. Where every arrival waits for a departure that no service can spare, bridges
(bridges.py) make up for one departure. Where there is no room for bridges either, something has to fall short: the
arrival goes first whose departures miss the fewest requests/s, weighed by how soon the same GPU makes up for them.

What moves to other cores of its CPU serves all the while. Nothing is let in that waits for a partition to move, unless
nothing else helps: in a circle, where each waits for another, one leaves and comes.

This is a heuristic, with restarts in other orders for as long as something falls short. It always ends, since
every step brings one more tenancy of the new plan for good. With as many idle GPUs as the new plan has of each type
nothing falls short: a GPU of the new plan that keeps nothing is dealt an idle one, and for each of the others what is
in the way fits on an idle one as it stands.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice

from .bridges import Arrival, BridgeSizes, build_bridges
from .tenancies import RealGpu, Tenancy
from .world import Item, World

MOST_LOOKED_AT = 200
"""Arrivals of which the one to help is chosen."""

MOST_TRIED = 50
"""Arrivals for which bridges are tried before something falls short."""


def order(
    real: Sequence[RealGpu],
    items: Sequence[Item],
    required: Mapping[str, float],
    sizes: BridgeSizes,
    *,
    seed: int | None = None,
) -> World:
    """
    Returns the world after all arrivals and departures, which knows their order.

    Parameters
    ----------
    items
        What stays, leaves and comes.
    required
        What each service of both plans must have, requests/s.
    seed
        Of another order of the arrivals, of three kinds in turn: one GPU after the other; those with something in their
        way first; all at once. None: all at once, and what has waited for least first.
    """
    return advance(World(real, items, required), sizes, seed=seed)


def advance(world: World, sizes: BridgeSizes, *, seed: int | None = None) -> World:
    """Takes a world to its end, from wherever it is: all that comes has come and all that leaves has left."""
    here = {i for on in world.on for i in on}
    pending = [i for i, item in enumerate(world.items) if item.role == "comes" and i not in here]
    draw = random.Random(seed)
    if seed is None:
        pending.sort(key=lambda i: (len(_blockers(world, i)), world.items[i].gpu, i))
    else:
        draw.shuffle(pending)
    arrivals = _Arrivals(world, sizes, pending)
    if seed is not None and seed % 3 == 1:
        # What comes where nothing is in its way would take room that bridges need.
        arrivals.let_in_the_blocked()
    if seed is None or seed % 3:
        arrivals.complete(arrivals.on_gpu)
    else:
        # Those that are empty come last, so that bridges find room there for as long as possible.
        gpus = list(arrivals.on_gpu)
        draw.shuffle(gpus)
        for gpu in sorted(gpus, key=lambda gpu: not world.on[gpu]):
            arrivals.complete([gpu])
    for role in ("leaves", "bridges"):
        for on in list(map(list, world.on)):
            for i in on:
                if world.items[i].role == role:
                    world.take(i)
    return world


class _Arrivals:
    """The tenancies that have yet to come, and what each of them waits for."""

    def __init__(self, world: World, sizes: BridgeSizes, pending: Sequence[int]) -> None:
        self.world = world
        self.sizes = sizes
        self.pending = dict.fromkeys(pending)
        self.on_gpu: defaultdict[int, dict[int, None]] = defaultdict(dict)
        for i in pending:
            self.on_gpu[world.items[i].gpu][i] = None
        self.waiting: defaultdict[str, dict[int, None]] = defaultdict(dict)
        """Arrivals that were refused because a service would have had too little."""
        self.admitted: set[int] = set()
        """GPUs to which arrivals may come for the time being."""
        self.depth_of_gpu: defaultdict[int, int] = defaultdict(int)
        """How many arrivals in a row lie behind what stands on a GPU now."""
        self.depth_of_service: defaultdict[str, int] = defaultdict(int)
        """The same of what a service has gained last."""

    def complete(self, gpus: Iterable[int]) -> None:
        """Lets everything in that is to come to some GPUs, and whatever helps on those that were completed before."""
        self.admitted.update(gpus)
        self.let_in([i for i in self.pending if self.world.items[i].gpu in self.admitted])
        while any(self.on_gpu[gpu] for gpu in self.admitted):
            self.let_in(self.make_way())

    def let_in_the_blocked(self) -> None:
        """Lets in, over bridges where it takes them, whatever has something in its way and need not fall short."""
        self.admitted.update(self.on_gpu)
        for i in list(self.pending):
            if self._blockers(i):
                self._enter_over_bridges(i)

    def let_in(self, candidates: Sequence[int]) -> None:
        """Lets in whatever can come, and whatever can come because of that, without a service falling short."""
        # What has waited for least comes first: then what services have to spare goes to those who are ready early.
        queue = [(self._depth(i, ()), number, i) for number, i in enumerate(candidates)]
        heapify(queue)
        queued = set(candidates)
        while queue:
            depth, _, i = heappop(queue)
            if i not in self.pending:
                continue
            blockers = self._blockers(i)
            if any(self.world.items[j].role == "moves" for j in blockers):
                queued.discard(i)  # it is looked at again when that has moved
                continue
            missing = self.world.deficits(blockers)
            if missing:
                queued.discard(i)
                for workload in missing:
                    self.waiting[workload][i] = None
                continue
            if (now := self._depth(i, blockers)) > depth:
                heappush(queue, (now, len(queued), i))
                continue
            queued.discard(i)
            for j in self.enter(i, blockers):
                if j not in queued:
                    heappush(queue, (self._depth(j, ()), len(queued), j))
                    queued.add(j)

    def _depth(self, i: int, blockers: Sequence[int]) -> int:
        """Returns how many arrivals in a row lie behind the room for an arrival and what its blockers can spare."""
        services = (workload for j in blockers for workload in self.world.items[j].tenancy.workloads)
        return max(self.depth_of_gpu[self.world.items[i].gpu], *(self.depth_of_service[one] for one in services), 0)

    def enter(self, i: int, blockers: Sequence[int]) -> list[int]:
        """Takes what is in the way, brings an arrival or moves it here, and returns those that this may help."""
        item = self.world.items[i]
        depth = self._depth(i, blockers) + 1
        self.depth_of_gpu[item.gpu] = depth
        for workload in item.tenancy.workloads:
            self.depth_of_service[workload] = max(depth, self.depth_of_service[workload])
        for j in blockers:
            self.world.take(j)
        origin = self.world.moving(i)
        if origin is None:
            self.world.bring(i)
        else:
            self.world.move(i, origin)
        self.pending.pop(i)
        self.on_gpu[item.gpu].pop(i)
        helped = dict(self.on_gpu[item.gpu])
        for workload in item.tenancy.workloads:
            helped |= self.waiting.pop(workload, {})
        return self._may_come(helped)

    def _may_come(self, candidates: Iterable[int]) -> list[int]:
        return [j for j in candidates if j in self.pending and self.world.items[j].gpu in self.admitted]

    def make_way(self) -> list[int]:
        """Lets one arrival in that has to be helped: by bridges, or else at the least harm."""
        admitted = (i for i in self.pending if self.world.items[i].gpu in self.admitted)
        looked_at = list(islice(admitted, MOST_LOOKED_AT))
        for clear_first in (False, True):
            if clear_first and not self._clear():
                break
            for i in sorted(looked_at, key=self._harm)[:MOST_TRIED]:
                helped = self._enter_over_bridges(i)
                if helped is not None:
                    return helped
        return self._enter_at_any_price(min(looked_at, key=self._harm))

    def _enter_over_bridges(self, i: int) -> list[int] | None:
        """Builds bridges and lets an arrival in; None: they do not suffice, and nothing has changed."""
        bridges, still = self._built(i)
        if still:
            self._undo(bridges)
            return None
        return self._enter_beside(bridges, i)

    def _enter_at_any_price(self, i: int) -> list[int]:
        """Builds what bridges there is room for and lets an arrival in, whatever falls short."""
        return self._enter_beside(self._built(i)[0], i)

    def _built(self, i: int) -> tuple[list[int], dict[str, float]]:
        """Builds bridges for an arrival and returns them, and what is still missing, requests/s by service."""
        item, blockers = self.world.items[i], self._blockers(i)
        origin = self.world.moving(i)
        gone = blockers if origin is None else [*blockers, origin]
        arrival = Arrival(item.gpu, item.tenancy, frozenset(gone))
        return build_bridges(self.world, self.sizes, self.world.deficits(blockers), arrival, self._coming)

    def _enter_beside(self, bridges: Sequence[int], i: int) -> list[int]:
        helped = self.enter(i, self._blockers(i))
        for bridge in bridges:
            for workload in self.world.items[bridge].tenancy.workloads:
                helped += self.waiting.pop(workload, {})
        return self._may_come(helped)

    def _blockers(self, i: int) -> list[int]:
        return _blockers(self.world, i)

    def _harm(self, i: int) -> tuple[float, int]:
        """
        Returns the requests/s that would be missing without what is in the way, then the arrival's number.

        They count twice where the same GPU does not make up for them, and less where the arrival ends a shortfall.
        """
        world, item = self.world, self.world.items[i]
        missing = world.deficits(self._blockers(i))
        gains: defaultdict[str, float] = defaultdict(float)
        for j in self.on_gpu[item.gpu] if missing else ():
            for workload, capacity in world.items[j].tenancy.capacity:
                gains[workload] += capacity
        harm = sum(short * (1 if gains[workload] >= short else 2) for workload, short in missing.items())
        relief = sum(
            max(0.0, min(capacity, world.required.get(workload, 0.0) - world.live[workload]))
            for workload, capacity in item.tenancy.capacity
        )
        return harm - relief, i

    def _clear(self) -> bool:
        """Takes whatever no service needs, bridges first; tells whether there was anything."""
        before = len(self.world.events)
        for role in ("bridges", "leaves"):
            for i in [i for on in self.world.on for i in on if self.world.items[i].role == role]:
                if not self.world.deficits([i]):
                    self.world.take(i)
        return len(self.world.events) > before

    def _coming(self, gpu: int) -> list[Tenancy]:
        """Returns what has yet to come to a GPU."""
        return [self.world.items[j].tenancy for j in self.on_gpu.get(gpu, ())]

    def _undo(self, bridges: Sequence[int]) -> None:
        """Takes bridges back that did not suffice, as if they had never been built."""
        for i in reversed(bridges):
            self.world.take(i)
            del self.world.events[-2:]
            self.world.items.pop()


def _blockers(world: World, i: int) -> list[int]:
    """Returns what has to go before an arrival fits; what moves there itself is not in its way."""
    blockers = world.blockers(world.items[i])
    if blockers is None:
        raise RuntimeError("what stays leaves no room for what comes; the new plan's GPU does not hold together")
    origin = world.moving(i)
    return blockers if origin is None else [j for j in blockers if j != origin]
