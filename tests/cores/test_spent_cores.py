"""What cores did in a run adds up to all that there was, counted anew from who held them when."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from problems.layer_chains import random_chain

from sliceplan.solver.cores.offline_bound import LeastWork, least_work
from sliceplan.solver.cores.qps import Draw
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.timetable import Machine, Span, Timetable, Trace
from sliceplan.solver.cores.schedulers.registry import scheduler_named, schedulers
from sliceplan.solver.cores.spent_cores import spent_cores


def test_a_run_by_hand():
    """Two queries of 10 ms on 4 cores: one in time on 2 cores for 6 ms, after 1 ms standing; one let go after 3 ms."""
    work = [LeastWork(price=0.0, progress=8.0, fastest=2.0, slo_ms=10.0)]
    spans = [Span(0, 2, 0.0, 1.0, 7.0), Span(1, 1, 2.0, 2.0, 5.0)]
    found = spent_cores(spans, np.array([7.0, math.inf]), Trace([0.0, 2.0], [0, 0]), work, 4)
    assert (found.needed, found.inefficient, found.standing, found.lost) == (8.0, 4.0, 2.0, 3.0)
    assert found.idle == 4 * 12 - 8 - 4 - 2 - 3
    per_s = found.in_queries_per_s(Trace([0.0, 2.0], [0, 0]), work, 4)
    assert per_s.all == pytest.approx(4 * 1000 / 8)
    assert per_s.lost == pytest.approx(3 / 8 / 0.012)


@pytest.mark.parametrize("name", [one for one in schedulers(under_interference=True) if one != "cpu-static"])
def test_the_parts_are_none_below_zero_and_idle_is_what_no_span_holds(name):
    """Oracle: cores counted microsecond by microsecond; what is needed at least is never more than what was run."""
    for seed in range(4):
        draw = random.Random(seed)
        chain = random_chain(draw, layers=4, counts=3, unit=2)
        slo_ms = 3 * int(chain.total_us.min()) / 1000
        quotas, machine = quotas_of(chain, slo_ms), Machine(cores=8, grow_ms=0.003)
        trace = Draw(seed, 25, [1.0]).trace(1000 * 1.5 / slo_ms)
        runtime = scheduler_named(name).start([Timetable(quotas)], [1.0], machine)
        spans: list[Span] = []
        ends = runtime(trace, spans=spans)
        found = spent_cores(spans, ends, trace, [least_work(chain, slo_ms)], machine.cores)
        assert min(found.needed, found.standing, found.lost) >= 0
        assert found.inefficient >= -1e-6
        begin = trace.arrivals_ms[0]
        end = max(trace.arrivals_ms[-1] + slo_ms, *(span.end_ms for span in spans))
        held = 0.0
        moments = sorted({begin, end, *(at for span in spans for at in (span.begin_ms, span.end_ms))})
        for one, other in pairwise(moments):
            middle = (one + other) / 2
            held += (other - one) * sum(span.cores for span in spans if span.begin_ms <= middle < span.end_ms)
        assert found.idle == pytest.approx(machine.cores * (end - begin) - held, abs=1e-6)
        assert found.all == pytest.approx(machine.cores * (end - begin), abs=1e-6)
