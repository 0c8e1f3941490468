"""
What stands between schedulers on cores and the bound for any runtime, in queries that are late at the bound's rate.

    .venv/bin/python tests/benchmarks/cores_between.py LAYERS [--queries 1000] [--seeds 3] [--family "10 ms"]

LAYERS is the folder of the VELTAIR artifact. A row for each family of arrivals: the rate that no runtime carries (95 %
in time), what schedulers carry, and, at the bound's rate, how many of 100 queries are late, with any runtime at least
5: with `by-time-left`; the same where growing costs no standstill; where it knows all arrivals and gives those up at
once without whom more others are in time (found by trying each query of a crowd, not proven best); and both.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ran_on import say_what_it_ran_on

from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.cores.offline_bound import least_work
from sliceplan.solver.cores.qps import Draw, carried_rps, offline_rps
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.between_layers import Choice, run_between_layers
from sliceplan.solver.cores.runtimes.timetable import CLOCK_MS, Machine, Timetable, Trace
from sliceplan.solver.cores.schedulers.by_time_left import ByTimeLeft
from sliceplan.solver.cores.schedulers.registry import scheduler_named
from sliceplan.solver.formats.layer_files import read_layer_times

CORES, GROW_MS = 64, 0.22
FAMILIES = (
    ("ResNet-50, 15 ms", ("resnet50",), 15, False),
    ("ResNet-50, 10 ms", ("resnet50",), 10, False),
    ("ResNet-50, 20 ms", ("resnet50",), 20, False),
    ("half GoogLeNet, 15 ms", ("resnet50", "googlenet"), 15, False),
    ("bursts, 15 ms", ("resnet50",), 15, True),
    ("bursts, 10 ms", ("resnet50",), 10, True),
)


class Bursts(Draw):
    """Gaps halved for 50 queries, then half as long again for 50."""

    def arrivals_ms(self, rate_rps):
        """Returns when the queries come at a rate."""
        gaps = np.diff(super().arrivals_ms(rate_rps), prepend=0.0)
        return (gaps * np.where(np.arange(len(gaps)) // 50 % 2, 1.5, 0.5)).cumsum()


class _Knowing:
    """`by-time-left`, which gives some queries up as they come."""

    makes = True

    def __init__(self, given_up):
        self._given_up, self._rule = frozenset(given_up), ByTimeLeft()

    def choose(self, queries, machine, now_ms):
        """Returns what `by-time-left` does with the others."""
        out = {one.query for one in queries} & self._given_up
        choice = self._rule.choose([one for one in queries if one.query not in out], machine, now_ms)
        return Choice(choice.counts, choice.let_go | out)


def _late(tables, trace, grow_ms, given_up=()):
    ends = run_between_layers(tables, trace, Machine(CORES, grow_ms), _Knowing(given_up))
    slo = np.array([tables[number].slo_ms for number in trace.model])
    return int((ends - np.array(trace.arrivals_ms) > slo + CLOCK_MS).sum())


def _late_in_hindsight(tables, trace, grow_ms):
    arrivals = np.array(trace.arrivals_ms)
    ends = np.maximum.accumulate(arrivals + max(table.slo_ms for table in tables))
    cuts = [0, *(np.flatnonzero(arrivals[1:] >= ends[:-1]) + 1).tolist(), len(arrivals)]
    total = 0
    for begin, end in pairwise(cuts):
        crowd = Trace(trace.arrivals_ms[begin:end], trace.model[begin:end])
        late, given_up, query = _late(tables, crowd, grow_ms), frozenset(), 0
        while late and query < end - begin:
            tried = given_up | {query}
            without = _late(tables, crowd, grow_ms, tried) if tried > given_up else late
            if without < late:
                late, given_up, query = without, tried, 0
            else:
                query += 1
        total += late
    return total


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("layers", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--family", default="", help="those whose name has these words")
    arguments = parser.parse_args()
    say_what_it_ran_on(f"{arguments.queries} queries, {arguments.seeds} seeds, of {arguments.layers.name}")
    chains = {one.model: levels_of(one).alone for one in read_layer_times(arguments.layers)}
    print("| family | bound | `by-time-left` | `planaria-like` | `veltair` | late at the bound | no standstill | "
          "hindsight | both |")  # fmt: skip
    print(f"|---|{'---:|' * 8}")
    for name, models, slo_ms, bursts in FAMILIES:
        if arguments.family not in name:
            continue
        tables = [Timetable(quotas_of(chains[model], slo_ms)) for model in models]
        work = [least_work(chains[model], slo_ms) for model in models]
        shares = [1 / len(models)] * len(models)
        found = []
        for seed in range(1, arguments.seeds + 1):
            draw = (Bursts if bursts else Draw)(seed, arguments.queries, shares)
            bound = offline_rps(work, draw, CORES)
            machine = Machine(CORES, GROW_MS)
            carried = [
                carried_rps(scheduler_named(one).start(tables, shares, machine), draw)
                for one in ("by-time-left", "planaria-like", "veltair")
            ]
            trace = draw.trace(bound)
            late = [of(tables, trace, grow) for of in (_late, _late_in_hindsight) for grow in (GROW_MS, 0.0)]
            found.append([bound, *carried, *(100 * one / arguments.queries for one in late)])
        bound, *carried, late, free, knowing, both = np.mean(found, axis=0)
        rates = " | ".join(f"{one:.0f}" for one in (bound, *carried))
        print(f"| {name} | {rates} | {late:.1f} | {free:.1f} | {knowing:.1f} | {both:.1f} |", flush=True)


if __name__ == "__main__":
    main()
