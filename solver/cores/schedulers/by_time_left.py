"""
Cores by the time that is left: earliest deadline first, each on the fewest cores that keep its deadline, then the rest.

    let go      whoever cannot end in time, not even on its fastest count
    put off     by earliest deadline, whoever has most work left of those so far, as long as what they need until their
                deadlines is more than the cores can do by the last of these
    least       by earliest deadline, who is put off last: of the counts with left (+ standstill) <= time left the one
                that takes least core-time if it goes on with one step less than the least of them as soon as that
                suffices; as far as cores suffice; a query that none suffices for keeps at most what it has
    short       such a query, by earliest deadline, takes all that is left up to its fastest count: it begins early on
                few cores, which are the efficient ones, and gets more when others end
    spare       unit by unit to the query that runs and loses least efficiency: greatest c left(c) / (c' left(c'))

Unlike quotas, which are fixed when a query comes, the time left grows less where a query has waited and more where it
ran ahead; and cores are taken from whoever can spare them, between two layers. Few cores are the efficient ones, so
each query has no more than it needs while others wait, and all that is idle while none does. More cores first and
fewer later take less core-time than one count to the end, as the step down costs no standstill: 24 cores end ResNet-50
in 8.3 of 10 ms, and 16 do not.

Where there is interference, times to plan with are those beside a full CPU, the greatest level that a query can meet on
a count of cores: one that is looked at when cores are chosen is over as soon as they are. There more cores may take
less core-time, as they leave fewer to others. Each layer is then made for the level at its begin.

Putting off is Moore's and Hodgson's way to the fewest late jobs on one machine (J. M. Moore, Management Science 15(1),
1968), with core-time in place of time. Where cores are short, earliest deadline first alone leaves each query to the
last moment, when many cores do little; so a few are given up for the others. Who is put off still gets what is left
over, and is taken up again when there is room.
"""

from bisect import bisect_left
from collections.abc import Sequence

from ..runtimes.between_layers import WAITS, Choice, Seen
from ..runtimes.timetable import CLOCK_MS, Machine
from .scheduler import ruling_scheduler

USABLE = 0.95
"""Part of the cores that counts on what queries need: the rest stands idle for want of whole counts that fit."""


WORTHWHILE = 0.99
"""Part of the core-time that more cores must come down to before they are taken without need."""


class ByTimeLeft:
    """The rule; it knows nothing of what will come."""

    makes = True

    def choose(self, queries: Sequence[Seen], machine: Machine, now_ms: float) -> Choice:
        late = frozenset(one.query for one in queries if _is_late(one))
        able = sorted((one for one in queries if one.query not in late), key=lambda one: one.deadline_ms)
        counts: dict[int, int] = {}
        short = []
        free = machine.cores
        for one in _in_order(able, machine, now_ms):
            count, is_enough = _least(one, free, machine.grow_ms)
            if not is_enough:
                short.append(one)
            if count > WAITS:
                counts[one.query] = count
                free -= one.model.counts[count]
        for one in short:
            held = one.model.counts[counts[one.query]] if one.query in counts else 0
            count = one.model.most(free + held)
            if count > counts.get(one.query, WAITS):
                counts[one.query] = count
                free -= one.model.counts[count] - held
        _deal(able, counts, free, machine.grow_ms)
        return Choice(counts, late)


def _is_late(one: Seen) -> bool:
    """Says whether no count ends a query in time; what it has now needs no standstill."""
    return one.from_ms + one.times.fastest[one.layer] > one.deadline_ms + CLOCK_MS


def _in_order(able: Sequence[Seen], machine: Machine, now_ms: float) -> list[Seen]:
    """Returns queries by their deadlines, who is put off behind the others; `able` is by deadline."""
    kept: list[tuple[float, Seen]] = []
    put_off = []
    needed = 0.0
    for one in able:
        count, _ = _least(one, machine.cores, machine.grow_ms)
        core_ms = one.model.counts[count] * one.left_ms(count, machine.grow_ms) if count > WAITS else 0.0
        kept.append((core_ms, one))
        needed += core_ms
        while kept and needed > USABLE * machine.cores * (one.deadline_ms - now_ms):
            longest = max(range(len(kept)), key=lambda number: kept[number][0])
            core_ms, other = kept.pop(longest)
            needed -= core_ms
            put_off.append(other)
    put_off.sort(key=lambda one: one.deadline_ms)
    return [*(one for _, one in kept), *put_off]


def _least(one: Seen, free: int, grow_ms: float) -> tuple[int, bool]:
    """Returns the count that takes least to end in time, and whether so many are free; else at most what it has."""
    most = one.model.most(free)
    left = one.deadline_ms - one.from_ms + CLOCK_MS
    enough, fewer = None, WAITS
    least = 0.0
    for count in range(most + 1):
        ms = one.left_ms(count, grow_ms)
        if ms <= left:
            fewer = count - 1 if enough is None else fewer
            core_ms = one.model.counts[count] * ms - _saved(one, count, fewer, left - ms)
            if enough is None or core_ms < WORTHWHILE * least:
                enough, least = count, core_ms
    return (min(one.count, most), False) if enough is None else (enough, True)


def _saved(one: Seen, count: int, fewer: int, spare_ms: float) -> float:
    """Returns the core-time that a query saves on a count if it goes on with fewer cores as soon as these suffice."""
    if fewer == WAITS:
        return 0.0
    many, few = one.times.rest[count], one.times.rest[fewer]
    layer = bisect_left(range(one.model.layers), -spare_ms, one.layer, key=lambda layer: many[layer] - few[layer])
    cores = one.model.counts
    return max(0.0, cores[count] * many[layer] - cores[fewer] * few[layer])


def _deal(able: Sequence[Seen], counts: dict[int, int], free: int, grow_ms: float) -> None:
    """Deals spare cores to those that run."""
    while True:
        best, best_worth = None, 0.0
        for one in able:
            count = counts.get(one.query, WAITS)
            cores = one.model.counts
            if count == WAITS or count + 1 == len(cores) or cores[count + 1] - cores[count] > free:
                continue
            now, then = one.left_ms(count, grow_ms), one.left_ms(count + 1, grow_ms)
            if then < now:
                worth = cores[count] * now / (cores[count + 1] * then)
                if worth > best_worth:
                    best, best_worth = one, worth
        if best is None:
            return
        count = counts[best.query]
        free -= best.model.counts[count + 1] - best.model.counts[count]
        counts[best.query] = count + 1


SCHEDULERS = (ruling_scheduler("by-time-left", "of sliceplan's own: earliest deadline on least cores", ByTimeLeft()),)
