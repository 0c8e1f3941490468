"""The search for the cheapest GPUs with turns: partitions are filled in several ways, and what is best is improved."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from time import monotonic

import numpy as np

from ...allocation.rounds import Round, RoundsGpu, Turn
from ...allocation.rounds_on_instances import Instance, InstanceTurn, assemble_instances
from ...exact.cost_lattice import cost_lattice
from ...exact.proof import is_within
from ...exact.turns.columns.packing import Packing
from ...exact.turns.columns.slots import Content, Slots
from ...exact.turns.columns.slowed_gpus import Placed, Wanted
from ...exact.turns.columns.whole_gpus import gpus_for
from ...model.plan import Bound, Plan, Search
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TOLERANCE, turn_rule
from ...runtime.interruption import offer
from .priced_rounds import PricedRounds
from .rounds_kept_free import CutFor, FreeBeside
from .slowed_shares import Surroundings, slowed_gpus, surroundings_of
from .turning_partitions import TurningPartitions

IN_VAIN = 500
"""Attempts to improve a plan, one after the other without success, after which the search ends."""

BEFORE, TRIES = 20, 3
"""Attempts in vain after which services are exchanged, and how often that is tried for a cheaper plan."""


OTHERS = 1, 2, 3
"""GPUs beside the least filled one that are filled anew at once, where shares slow each other."""

CONCAVE = 0.6
"""Exponent of the units that a GPU's shares take, in what is made small: little on few GPUs."""


@dataclass(frozen=True, eq=False)
class Way:
    """A way to fill partitions: prices and rates, and what services achieve on them."""

    packing: Packing
    partitions: TurningPartitions
    alone_batch: Mapping[int, Ints] = field(default_factory=dict)
    """Of shares that slow each other: the batch of each service that has one for itself, back to back."""


@dataclass(frozen=True, eq=False)
class _Needed:
    """A content, and what it has to carry."""

    content: Content
    services: tuple[int, ...]
    """The problem's, where the content has pieces of them."""
    rates_rps: tuple[float, ...]
    is_piece: bool
    """Whether it is of the rest of services; else of partitions that are one service's own."""


@dataclass(frozen=True, eq=False)
class _Beside:
    """A GPU whose shares slow each other."""

    gpu: str
    shares: tuple[Placed, ...]
    contents: tuple[_Needed, ...]

    @property
    def units(self) -> int:
        """That its shares take."""
        return sum(one.units for one in self.shares)


@dataclass(eq=False)
class Cheapest:
    """The search for the cheapest plan."""

    resolved: ResolvedProblem
    planner: str
    bound: Bound
    search: Callable[..., Search]
    until: float
    free: FreeBeside | None
    """What cuts GPUs where partitions are kept free."""
    by_prices: PricedRounds | None = None
    """What fills whole GPUs whose shares slow each other; None: it is not for this fleet."""
    around: dict[str, Surroundings] = field(default_factory=dict)
    """Of GPU types whose shares slow each other: the surroundings on the GPUs that were dealt last."""
    found: tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]] | None = None
    cost: float = inf
    free_usd: float = 0.0
    """Prices of the partitions that are kept free."""
    filled: float = inf
    """How full the GPUs are whose shares slow each other and that were dealt last; less is better."""

    def __post_init__(self) -> None:
        self._lattice = cost_lattice(self.resolved)
        self._available = {entry.gpu.name: entry.available for entry in self.resolved.fleet}
        self._slowed = slowed_gpus(self.resolved, turn_rule(self.resolved.problem))

    def built(self, stopped: StopReason) -> Plan:
        """Returns the cheapest plan that was found."""
        (gpus, under_mps), known = self.found or ([], []), self.search(stopped=stopped)
        return assemble_instances(self.resolved, gpus, under_mps, planner=self.planner, bound=self.bound, search=known)

    def search_all(self, ways: Iterator[Way], first_until: float) -> bool:
        """
        Fills partitions in several ways, and improves what is best; tells whether the time ended that.

        `first_until`: the moment from which on services stand alone at first, and no further way is tried.
        """
        if self.by_prices is not None and self._fill_by_prices(self.by_prices):
            return False
        best: tuple[float, Way, list[Content]] | None = None
        while (best is None or not self.is_enough) and (best is None or monotonic() < first_until):
            way = next(ways, None)
            if way is None:
                break
            contents = way.packing.filled(first_until)
            is_cheaper = self._is_cheaper(way, contents)
            if best is None or is_cheaper or self.filled < best[0]:
                best = self.filled, way, contents
        if best is None:
            return False
        _, way, contents = best
        if self._slowed and not any(not self._is_slowed(way, one) for one in [*way.packing.whole, *contents]):
            return self._improve_beside(way, contents)
        return self._improve(way, contents)

    def _improve_beside(self, way: Way, contents: list[Content]) -> bool:
        """
        Takes everything from the GPU that is least filled and from some others, and fills them anew; what helps stays.

        Tells whether the time ended that.
        """
        packing, draw, vain = way.packing, Random(1), 0
        dealt = self._dealt_beside(way, self._with_needs(packing, contents))
        while dealt is not None and not self.is_enough and vain < IN_VAIN and monotonic() < self.until:
            vain += 1
            low = min((one.units, i) for i, one in enumerate(dealt))[1]
            alike = [i for i in range(len(dealt)) if i != low and dealt[i].gpu == dealt[low].gpu]
            taken = {low, *draw.sample(alike, min(draw.choice(OTHERS), len(alike)))}
            own = [one for i in sorted(taken) for one in dealt[i].contents]
            pieces = packing.refilled([one.content for one in own if one.is_piece], draw)
            whole = [one for one in own if not one.is_piece]
            again = self._dealt_beside(way, [*whole, *(self._needed(packing, one) for one in pieces)])
            if again is None or _fullness(again) >= _fullness([dealt[i] for i in taken]) * (1 - TOLERANCE):
                continue
            dealt, vain = [one for i, one in enumerate(dealt) if i not in taken] + again, 0
            self._keep_if_cheaper(([], [self._rounds(one) for one in dealt]))
        return vain < IN_VAIN

    def _fill_by_prices(self, by_prices: PricedRounds) -> bool:
        """Fills whole GPUs by prices of services; tells whether no fewer are to be expected."""
        for under_mps in by_prices.plans(self.until):
            self._keep_if_cheaper(([], under_mps))
            if self.is_enough:
                break
        return by_prices.looks_best

    def _improve(self, way: Way, contents: list[Content]) -> bool:
        packing = way.packing
        vain, tries, paid = 0, 0, packing.usd(contents)
        draw, exchange_draw = Random(1), np.random.default_rng(1)
        while not self.is_enough and vain < IN_VAIN and monotonic() < self.until:
            wanted_usd = self._wanted_usd(packing)
            # Where prices allow a cheaper plan already, GPUs cannot be cut into the partitions: no exchange mends that.
            if vain >= BEFORE and tries < TRIES and self.found is not None and wanted_usd < paid * (1 - TOLERANCE):
                tries += 1
                better = packing.exchanged(contents, wanted_usd, exchange_draw, self.until)
                # At prices of partitions alone it may cost less, and take as many GPUs.
                better = better if better is not None and self._is_cheaper(way, better) else None
            else:
                better = packing.improved(contents, draw)
            contents, vain = (contents, vain + 1) if better is None else (better, 0)
            if packing.usd(contents) < paid:
                paid, tries = packing.usd(contents), 0
                self._is_cheaper(way, contents)
        return vain < IN_VAIN

    @property
    def is_enough(self) -> bool:
        """Whether no plan is cheaper by more than the gap that is asked for."""
        return is_within(self.resolved.gap, self.cost, self.bound.cost_per_hour)

    def _wanted_usd(self, packing: Packing) -> float:
        """Returns what contents may cost at the prices of partitions, if GPUs are to cost less."""
        return self._lattice.cost_below(self.cost) - packing.usd(packing.whole) - self.free_usd

    def _is_slowed(self, way: Way, content: Content) -> bool:
        slot = content.slot
        return way.partitions.percent[slot] is not None and way.partitions.slots[slot].gpu in self._slowed

    def _is_cheaper(self, way: Way, contents: Sequence[Content]) -> bool:
        """Deals GPUs to contents, and tells whether their plan costs less than all before: then it is the best."""
        packing, left_s = way.packing, max(0.1, self.until - monotonic())
        everything = [*packing.whole, *packing.owned(contents)]
        cut_for = self._cut(way, [one for one in everything if not self._is_slowed(way, one)], left_s)
        every = self._with_needs(packing, contents)
        beside = self._dealt_beside(way, [one for one in every if self._is_slowed(way, one.content)])
        if cut_for is None or beside is None:
            return False
        self.filled = _fullness(beside)
        gpus, under_mps = _dealt(cut_for, way.partitions)
        if not self._keep_if_cheaper((gpus, [*under_mps, *map(self._rounds, beside)])):
            return False
        self.free_usd = packing.usd(one for one in cut_for.contents if not one.services)
        return True

    def _keep_if_cheaper(self, found: tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]]) -> bool:
        used = [*(gpu for gpu, _ in found[0]), *(one.gpu for one in found[1])]
        own = sum(self.resolved.fleet_by_name[gpu].price_per_hour for gpu in used)
        if own >= self.cost or any(
            most is not None and used.count(gpu) > most for gpu, most in self._available.items()
        ):
            return False
        self.found, self.cost = found, own
        offer(self.built)
        return True

    def _cut(self, way: Way, contents: Sequence[Content], left_s: float) -> CutFor | None:
        """Returns the cheapest GPUs that have the partitions of some contents, and those that are kept free."""
        if self.free is not None:
            return self.free.cut(contents, left_s)
        if not contents:
            return CutFor((), (), ())
        cuts = way.partitions.usable_cuts
        counts = gpus_for(contents, cuts, self._available, self._lattice, left_s)
        return None if counts is None else CutFor(contents, cuts, counts)

    @staticmethod
    def _needed(packing: Packing, content: Content) -> _Needed:
        [owned] = packing.owned([content])
        return _Needed(content, owned.services, packing.needed_rps(content), is_piece=True)

    def _with_needs(self, packing: Packing, contents: Sequence[Content]) -> list[_Needed]:
        whole = [_Needed(one, one.services, one.carried_rps, is_piece=False) for one in packing.whole]
        return [*whole, *(self._needed(packing, one) for one in contents)]

    def _dealt_beside(self, way: Way, contents: Sequence[_Needed]) -> list[_Beside] | None:
        """Returns GPUs whose shares slow each other; None: something fits none of them."""
        rounds: defaultdict[str, list[Wanted]] = defaultdict(list)
        owner: dict[int, _Needed] = {}
        for one in contents:
            slots, options = way.partitions.slots[one.content.slot], one.content.options
            if options is None:
                batches = tuple(int(way.alone_batch[one.content.slot][w]) for w in one.services)
            else:
                batches = tuple(int(slots.batch[w, j]) for w, j in zip(one.services, options, strict=True))
            wanted = Wanted(one.services, batches, one.rates_rps, options is not None)
            rounds[slots.gpu].append(wanted)
            owner[id(wanted)] = one
        found: list[_Beside] = []
        for gpu, own in rounds.items():
            dealt = self._slowed[gpu].deal(own)
            if dealt is None:
                return None
            self.around[gpu] = surroundings_of(self._slowed[gpu], dealt)
            found += [_Beside(gpu, shares, tuple(owner[id(one.wanted)] for one in shares)) for shares in dealt]
        return found

    def _rounds(self, one: _Beside) -> RoundsGpu:
        mps = self.resolved.mps[one.gpu]
        rounds = []
        for share in one.shares:
            turns = zip(share.wanted.services, share.wanted.batches, strict=True)
            rounds.append(Round(mps.percent_of(share.units), tuple(Turn(w, b) for w, b in turns), share.round_ms))
        return RoundsGpu(one.gpu, tuple(rounds))


def _fullness(gpus: Sequence[_Beside]) -> float:
    """Less is better: fewer GPUs, and of as many units those that are less alike."""
    return float(sum(one.units**CONCAVE for one in gpus))


def _dealt(cut_for: CutFor, partitions: TurningPartitions) -> tuple[list[tuple[str, list[Instance]]], list[RoundsGpu]]:
    """Returns the GPUs on which anything stands: those that are cut by MIG or used whole, and those under MPS."""
    waiting: defaultdict[int, deque[Content]] = defaultdict(deque)
    for one in cut_for.contents:
        waiting[one.slot].append(one)
    cut_up: list[tuple[str, list[Instance]]] = []
    under_mps: list[RoundsGpu] = []
    for cut, number in zip(cut_for.cuts, cut_for.counts, strict=True):
        for _ in range(number):
            own = [waiting[k].popleft() for k, times in cut.counts.items() for _ in range(min(times, len(waiting[k])))]
            shared = all(partitions.percent[one.slot] is not None for one in own)
            if own and shared:
                under_mps.append(RoundsGpu(cut.gpu, tuple(_round(one, partitions) for one in own)))
            elif own:
                cut_up.append((cut.gpu, [_instance(one, partitions.slots) for one in own]))
    order = {cut.gpu: i for i, cut in reversed(list(enumerate(cut_for.cuts)))}
    return cut_up, sorted(under_mps, key=lambda one: order[one.gpu])


def _round(content: Content, partitions: TurningPartitions) -> Round:
    """Returns a round on a share under MPS; a service that has it for itself has a round there too."""
    percent, one = partitions.percent[content.slot], partitions.slots[content.slot]
    if percent is None or content.options is None or content.round_ms is None:
        raise RuntimeError(f"services {content.services} have no round on {one.name} of {one.gpu}")
    turns = zip(content.services, content.options, strict=True)
    return Round(percent, tuple(Turn(w, int(one.batch[w, j])) for w, j in turns), content.round_ms)


def _instance(content: Content, slots: Sequence[Slots]) -> Instance:
    if not content.services:
        return Instance(content.slot, None)
    if content.options is None:
        return Instance(content.slot, content.services[0])
    one = slots[content.slot]
    turns = zip(content.services, content.options, content.carried_rps, strict=True)
    return Instance(
        content.slot,
        None,
        tuple(InstanceTurn(w, int(one.batch[w, j]), float(one.latency_ms[w, j]), rps) for w, j, rps in turns),
    )
