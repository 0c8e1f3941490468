"""
What stands between schedulers on cores and the bound for any runtime: queries that are late at its rate, and core-time.

    .venv/bin/python tests/benchmarks/cores_between.py LAYERS [--queries 1000] [--seeds 3] [--family "10 ms"]

LAYERS is the folder of the VELTAIR artifact. The first table has, for each family of arrivals, how many of 100 queries
are late with `by-time-left` at the rate that no runtime carries, where at least 5 are with any: as it is; if growing
cost no standstill; if each layer took as little core-time on every count of cores as on its best one, and was never
faster than its fastest; if it knew all arrivals, and gave those up at once without whom more others are in time (found
by trying each query, not proven best); without the first two causes; and without all three. The second table has the
bound, what schedulers carry, and what the cores did under `by-time-left` at its own rate, in queries/s.
"""

import argparse
import sys
from dataclasses import astuple
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.hindsight import in_hindsight, outcome
from ran_on import say_what_it_ran_on

from sliceplan.solver.cores.chain import Chain
from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.cores.offline_bound import least_work
from sliceplan.solver.cores.qps import Draw, carried_rps, offline_rps
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.timetable import Machine, Timetable
from sliceplan.solver.cores.schedulers.registry import scheduler_named
from sliceplan.solver.cores.spent_cores import spent_cores
from sliceplan.solver.formats.layer_files import read_layer_times

CORES, GROW_MS = 64, 0.22
SCHEDULERS = ("by-time-left", "planaria-like", "veltair")
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


def efficient(chain):
    """Returns the layers if every count took as little core-time as their best one, and none beat the fastest."""
    least = (chain.us * chain.cores).min(axis=1, keepdims=True)
    us = np.maximum(-(-least // chain.cores), chain.us[:, -1:])
    return Chain(chain.name, chain.cores, us, chain.macs)


def _late_by_cause(chains, slo_ms, trace):
    """Returns how many are late: as it is, without causes one by one, without two, and without all three."""
    tables, ideal = ([Timetable(quotas_of(of(one), slo_ms)) for one in chains] for of in (lambda one: one, efficient))
    whole = slice(0, len(trace.arrivals_ms))
    machine, free_to_grow = Machine(CORES, GROW_MS), Machine(CORES, 0.0)
    pairs = [(of, on) for of in (tables, ideal) for on in (machine, free_to_grow)]
    as_is, free, scaling, both = (int(outcome(of, trace, on, whole)[0].sum()) for of, on in pairs)
    known, all_three = in_hindsight(tables, trace, machine)[0], in_hindsight(ideal, trace, free_to_grow)[0]
    return as_is, free, scaling, known, both, all_three


def _spent(runtime, trace, work):
    """Returns what cores did, in queries/s: needed, inefficient, standing, lost, idle."""
    spans = []
    ends = runtime(trace, spans=spans)
    return astuple(spent_cores(spans, ends, trace, work, CORES).in_queries_per_s(trace, work, CORES))


def _row(name, figures, digits):
    print(f"| {name} | {' | '.join(f'{one:.{digits}f}' for one in figures)} |", flush=True)


def main():
    """Prints both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("layers", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--family", default="", help="those whose name has these words")
    arguments = parser.parse_args()
    say_what_it_ran_on(f"{arguments.queries} queries, {arguments.seeds} seeds, of {arguments.layers.name}")
    chains = {one.model: levels_of(one).alone for one in read_layer_times(arguments.layers)}
    rates = {}
    print("| family | late | no standstill | every count efficient | hindsight | the first two | all three |")
    print(f"|---|{'---:|' * 6}")
    for name, models, slo_ms, bursts in FAMILIES:
        if arguments.family not in name:
            continue
        of = [chains[model] for model in models]
        tables = [Timetable(quotas_of(one, slo_ms)) for one in of]
        work = [least_work(one, slo_ms) for one in of]
        shares = [1 / len(models)] * len(models)
        late, carried = [], []
        for seed in range(1, arguments.seeds + 1):
            draw = (Bursts if bursts else Draw)(seed, arguments.queries, shares)
            bound, machine = offline_rps(work, draw, CORES), Machine(CORES, GROW_MS)
            runtimes = [scheduler_named(one).start(tables, shares, machine) for one in SCHEDULERS]
            rps = [carried_rps(one, draw) for one in runtimes]
            carried.append([bound, *rps, *_spent(runtimes[0], draw.trace(rps[0]), work)])
            late.append(_late_by_cause(of, slo_ms, draw.trace(bound)))
        rates[name] = np.mean(carried, axis=0)
        _row(name, 100 * np.mean(late, axis=0) / arguments.queries, 1)
    names = " | ".join(f"`{one}`" for one in SCHEDULERS)
    print(f"\n| family | bound | {names} | needed | inefficient | standing | lost | idle |\n|---|{'---:|' * 9}")
    for name, figures in rates.items():
        _row(name, figures, 0)


if __name__ == "__main__":
    main()
