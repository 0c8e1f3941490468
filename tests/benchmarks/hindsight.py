"""How few queries are late on cores if whoever shall be given up is known as it comes: `by-time-left` in hindsight."""

import numpy as np

from sliceplan.solver.cores.runtimes.between_layers import TICK_MS, Choice, run_between_layers
from sliceplan.solver.cores.runtimes.timetable import CLOCK_MS, Trace
from sliceplan.solver.cores.schedulers.by_time_left import ByTimeLeft


class Knowing:
    """`by-time-left`, which gives some queries up as they come."""

    makes = True

    def __init__(self, given_up):
        self._given_up, self._rule = frozenset(given_up), ByTimeLeft()

    def choose(self, queries, machine, now_ms):
        """Returns what `by-time-left` does with the others."""
        out = {one.query for one in queries} & self._given_up
        choice = self._rule.choose([one for one in queries if one.query not in out], machine, now_ms)
        return Choice(choice.counts, choice.let_go | out)


def outcome(tables, trace, machine, part, given_up=frozenset()):
    """Carries out the queries of a part alone: who of them is late, and when all of them up to each one are gone."""
    cut = Trace(trace.arrivals_ms[part], trace.model[part])
    spans = []
    out = {query - part.start for query in given_up if part.start <= query < part.stop}
    ends = run_between_layers(tables, cut, machine, Knowing(out), spans=spans)
    deadlines = np.array(cut.arrivals_ms) + np.array([tables[number].slo_ms for number in cut.model])
    gone = np.minimum(ends, deadlines)  # who never had cores is let go before its deadline
    for span in spans:
        gone[span.query] = max(gone[span.query], span.end_ms)
    return ends > deadlines + CLOCK_MS, np.maximum.accumulate(gone)


def in_hindsight(tables, trace, machine):
    """
    Returns how many are late if those are given up at once without whom more are in time, and these.

    Each query is tried until no single one helps any more. Only the queries from the last moment before it at which the
    CPU was empty to the next one are carried out again: the others go on as they were. A tick may be due after the last
    query is gone, so the CPU counts as empty only after that.
    """
    arrivals = np.array(trace.arrivals_ms)
    number = len(arrivals)
    late, gone = outcome(tables, trace, machine, slice(0, number))
    empties = np.append(arrivals[1:] > gone[:-1] + TICK_MS, True)  # after each query, before the next one
    given_up, untried, query = frozenset(), set(range(number)), 0
    looked_to = np.zeros(number, dtype=int)  # the end of the queries that were carried out again without each one
    while untried:
        query = min((one for one in untried if one >= query), default=min(untried))
        untried.discard(query)
        begin = int(np.flatnonzero(empties[:query]).max(initial=-1)) + 1
        stops = np.flatnonzero(empties[query:]) + query + 1
        looked_to[query] = stops[0]
        if not late[begin : stops[0]].any():
            continue
        for end in stops.tolist():
            part = slice(begin, end)
            late_now, gone = outcome(tables, trace, machine, part, given_up | {query})
            if end == number or arrivals[end] > gone[-1] + TICK_MS:
                break
        looked_to[query] = end
        if late_now.sum() < late[part].sum():
            given_up, late[part] = given_up | {query}, late_now
            empties[begin : end - 1] = arrivals[begin + 1 : end] > gone[:-1] + TICK_MS
            untried |= set(np.flatnonzero(looked_to[:end] > begin).tolist()) - given_up
    return int(late.sum()), given_up
