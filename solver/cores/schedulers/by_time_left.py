"""
Cores by the time that is left: earliest deadline first, each on the fewest cores that keep its deadline, then the rest.

    let go      whoever cannot end in time, not even on its fastest count
    least       by earliest deadline: the least count with left (+ standstill) <= time left, as far as cores suffice;
                a query that none suffices for keeps at most what it has
    short       such a query, by earliest deadline, takes all that is left up to its fastest count: it begins early on
                few cores, which are the efficient ones, and gets more when others end
    spare       unit by unit to the query that runs and loses least efficiency: greatest c left(c) / (c' left(c'))

Unlike quotas, which are fixed when a query comes, the time left grows less where a query has waited and more where it
ran ahead; and cores are taken from whoever can spare them, between two layers. Few cores are the efficient ones, so
each query has no more than it needs while others wait, and all that is idle while none does.
"""

from collections.abc import Sequence

from ..runtimes.between_layers import WAITS, Choice, Seen
from ..runtimes.timetable import CLOCK_MS, Machine
from .scheduler import ruling_scheduler


class ByTimeLeft:
    """The rule; it knows nothing of what will come."""

    def choose(self, queries: Sequence[Seen], machine: Machine, now_ms: float) -> Choice:  # noqa: ARG002
        late = frozenset(one.query for one in queries if _is_late(one))
        able = sorted((one for one in queries if one.query not in late), key=lambda one: one.deadline_ms)
        counts: dict[int, int] = {}
        short = []
        free = machine.cores
        for one in able:
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
    return one.from_ms + one.model.fastest[one.layer] > one.deadline_ms + CLOCK_MS


def _least(one: Seen, free: int, grow_ms: float) -> tuple[int, bool]:
    """Returns the least count that ends a query in time, and whether so many are free; else at most what it has."""
    most = one.model.most(free)
    left = one.deadline_ms - one.from_ms + CLOCK_MS
    enough = next((count for count in range(most + 1) if one.left_ms(count, grow_ms) <= left), None)
    return (min(one.count, most), False) if enough is None else (enough, True)


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
