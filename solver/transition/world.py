"""The fleet in the middle of a transition: what is on each GPU, and how much each service has to spare."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..model.catalogue import load_catalogue
from ..model.geometry import Layout
from ..model.problem import Sharing
from .room import free_profiles, in_the_way, layout
from .tenancies import RealGpu, Tenancy, capacity_rps

THERE_AT_FIRST = ("stays", "leaves", "moves")
"""Parts of what the old plan has running."""

SLACK = 1e-9
"""Relative; a capacity that equals what is required but for rounding is enough."""


@dataclass(frozen=True)
class Item:
    """A tenancy on a GPU, with its part in the transition."""

    gpu: int
    """Index of the real GPU."""
    tenancy: Tenancy
    role: Literal["stays", "leaves", "comes", "bridges", "moves"]
    """bridges: it is brought and taken again; moves: the same comes on other cores of its CPU."""
    origin: int | None = None
    """The item that moves here, if it is still there then; None: none does."""


@dataclass(frozen=True)
class Event:
    """An item begins to serve, or ceases to."""

    item: int
    brings: bool


class World:
    """
    The state between two events, which `bring` and `take` change, with the events that led to it.

    `required` holds only the services of both plans; others need nothing.
    """

    def __init__(self, real: Sequence[RealGpu], items: Iterable[Item], required: Mapping[str, float]) -> None:
        self.real = real
        self.items = list(items)
        self.required = required
        self.events: list[Event] = []
        self.on: list[list[int]] = [[] for _ in real]
        """Items on each GPU, in the order in which they came."""
        for i, item in enumerate(self.items):
            if item.role in THERE_AT_FIRST:
                self.on[item.gpu].append(i)
        self._layouts: dict[int, Layout] = {}
        self._changed = set(range(len(real)))
        self._free_profiles: list[frozenset[str]] = [frozenset()] * len(real)
        self._with_room: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self.live: defaultdict[str, float] = defaultdict(float)
        self.live.update(capacity_rps(self.items[i].tenancy for on in self.on for i in on))

    def bring(self, i: int) -> None:
        """Puts an item on its GPU, where it must fit, and counts its capacity."""
        item = self.items[i]
        self.on[item.gpu].append(i)
        self._note_change(item.gpu)
        for workload, capacity in item.tenancy.capacity:
            self.live[workload] += capacity
        self.events.append(Event(i, brings=True))

    def take(self, i: int) -> None:
        """Removes an item from its GPU; one that was to move to other cores is stopped in place of it."""
        if self.items[i].role == "moves":
            self.items[i] = replace(self.items[i], role="leaves")
        self._remove(i)

    def move(self, i: int, origin: int) -> None:
        """Puts an item where it fits once another, which it was until now, has gone from its CPU."""
        self.bring(i)
        self._remove(origin)

    def _remove(self, i: int) -> None:
        item = self.items[i]
        self.on[item.gpu].remove(i)
        self._note_change(item.gpu)
        for workload, capacity in item.tenancy.capacity:
            self.live[workload] -= capacity
        self.events.append(Event(i, brings=False))

    def add(self, item: Item) -> int:
        """Makes an item known and returns its number; it is nowhere yet."""
        self.items.append(item)
        return len(self.items) - 1

    def may_go(self, i: int) -> bool:
        """Tells whether an item is one that goes sooner or later."""
        return self.items[i].role in ("leaves", "bridges", "moves")

    def moving(self, i: int) -> int | None:
        """Returns the item that moves to where another comes; None: none does, or it had to go before."""
        origin = self.items[i].origin
        return origin if origin in self.on[self.items[i].gpu] else None

    def present(self, gpu: int) -> list[Tenancy]:
        """Returns what is on a GPU."""
        return [self.items[i].tenancy for i in self.on[gpu]]

    def may_share(self, gpu: int, sharing: Sharing) -> bool:
        """Tells whether a GPU is empty, or what is on it is shared in this way."""
        on = self.on[gpu]
        return not on or self.items[on[0]].tenancy.sharing == sharing

    def layout(self, gpu: int) -> Layout:
        """Returns the layout of the MIG instances on a GPU."""
        known = self._layouts.get(gpu)
        if known is None:
            known = self._layouts[gpu] = layout(self.present(gpu))
        return known

    def with_room(self, gpu: str, profile: str) -> list[int]:
        """Returns the GPUs of a type on which a MIG instance could be added as they are, or that are empty."""
        for g in self._changed:
            name = self.real[g].gpu
            facts = load_catalogue().get(name)
            has_mig = facts is not None and facts.mig is not None and self.may_share(g, "mig")
            free = free_profiles(name, self.layout(g)) if has_mig else frozenset[str]()
            for one in self._free_profiles[g] - free:
                self._with_room[name, one].discard(g)
            for one in free - self._free_profiles[g]:
                self._with_room[name, one].add(g)
            self._free_profiles[g] = free
        self._changed.clear()
        return sorted(self._with_room[gpu, profile])

    def _note_change(self, gpu: int) -> None:
        self._layouts.pop(gpu, None)
        self._changed.add(gpu)

    def blockers(self, item: Item) -> list[int] | None:
        """Returns the items that have to go before another fits; None: one of them must stay."""
        on = self.on[item.gpu]
        gpu = self.real[item.gpu].gpu
        found = in_the_way(gpu, self.present(item.gpu), [self.may_go(i) for i in on], item.tenancy)
        return None if found is None else [on[position] for position in found]

    def deficits(self, leaving: Iterable[int]) -> dict[str, float]:
        """Returns the services that would have too little without some items, and by how much, requests/s."""
        lost = capacity_rps(self.items[i].tenancy for i in leaving)
        missing = {}
        for workload, capacity in lost.items():
            required = self.required.get(workload, 0.0)
            short = required - (self.live[workload] - capacity)
            if required > 0 and short > SLACK * required:
                missing[workload] = short
        return missing
