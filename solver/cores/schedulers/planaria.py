"""
Cores by slack and score (Planaria, MICRO 2020, its published scheduler; all priorities 1).

Least cores of a query: those with which it ends within its slack. If all fit, spare cores go by score 1 / (time on the
least cores), in proportion; else queries are served by score 1 / (slack x least cores), greatest first, as long as
cores suffice. Who is too late gets none and is let go.
"""

from collections.abc import Sequence

from ..runtimes.between_layers import Choice, Seen
from ..runtimes.timetable import Machine
from .scheduler import ruling_scheduler


class _Scores:
    makes = False

    def choose(self, queries: Sequence[Seen], machine: Machine, now_ms: float) -> Choice:  # noqa: ARG002
        least: dict[int, int] = {}
        late = set()
        for one in queries:
            slack = one.deadline_ms - one.from_ms
            counts = range(one.model.most(machine.cores) + 1)
            enough = next((count for count in counts if one.left_ms(count, machine.grow_ms) <= slack), None)
            if enough is None and one.layer < one.model.layers:
                late.add(one.query)
            else:
                least[one.query] = 0 if enough is None else enough
        able = [one for one in queries if one.query in least]
        cores = {one.query: one.model.counts[least[one.query]] for one in able}
        spare = machine.cores - sum(cores.values())
        if spare < 0:
            return Choice(_by_score(able, cores, least, machine.cores), frozenset(late))
        scores = {one.query: 1 / max(one.left_ms(least[one.query], machine.grow_ms), 1e-9) for one in able}
        total = sum(scores.values())
        counts_of = {
            one.query: one.model.most(cores[one.query] + int(spare * scores[one.query] / total)) for one in able
        }
        return Choice(counts_of, frozenset(late))


def _by_score(able: Sequence[Seen], cores: dict[int, int], least: dict[int, int], free: int) -> dict[int, int]:
    given = {}
    for one in sorted(able, key=lambda one: (one.deadline_ms - one.from_ms) * cores[one.query]):
        if cores[one.query] <= free:
            given[one.query] = least[one.query]
            free -= cores[one.query]
    return given


SCHEDULERS = (ruling_scheduler("planaria-like", "Planaria (MICRO 2020), its scheduler on cores", _Scores()),)
