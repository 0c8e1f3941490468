"""The schedulers on cores: what each must keep on random chains, and the published figures on common random numbers."""

import random
from functools import cache

import numpy as np
import pytest
from oracles.spans_oracle import layers_done, most_held
from problems.layer_chains import published_chain, random_chain

from sliceplan.solver.cores.offline_bound import least_work, most_in_time
from sliceplan.solver.cores.qps import Draw, carried_rps
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.timetable import Machine, Timetable
from sliceplan.solver.cores.schedulers.registry import scheduler_named, schedulers
from sliceplan.solver.model.errors import InputError

MACHINE = Machine(cores=64, grow_ms=0.22)

BETWEEN_LAYERS = ("by-time-left", "planaria-like", "prema")

QPS = {
    "model-wise": (155, 50), "cpu-static": (182, 104), "prema": (123, 78), "layer-wise": (88, 30),
    "fixed-blocks-6": (137, 49), "fixed-blocks-11": (151, 64), "fixed-blocks-20": (153, 67),
    "veltair-literal": (103, 44), "veltair": (145, 79),
}  # fmt: skip
"""Queries/s of ResNet-50 at 15 and at 10 ms, as a prototype found them on the same draws; mean of seeds 1, 2 and 3."""

DEAR = {"layer-wise": 0.1, "prema": 0.04}
"""Within what part of the figure they are; one seed scatters more."""


@cache
def runtime_of(name, slo_ms, models=("resnet50",)):
    tables = [Timetable(quotas_of(published_chain(model), slo_ms)) for model in models]
    return scheduler_named(name).start(tables, [1 / len(models)] * len(models), MACHINE)


def share_in_time(runtime, rate_rps, slo_ms, seed, queries=2000, models=1):
    draw = Draw(seed, queries, [1 / models] * models)
    latency = runtime(draw.trace(rate_rps)) - draw.arrivals_ms(rate_rps)
    return float((latency <= slo_ms + 1e-6).mean())


@pytest.mark.parametrize("slo_ms", [15, 10])
@pytest.mark.parametrize("name", QPS)
def test_schedulers_carry_what_the_prototype_found(name, slo_ms):
    """
    At 4 % below the figure, mean of three seeds, enough queries are in time, and at 4 % above not.

    Of those in `DEAR`, which have the most events, one seed alone is run, as far as the share may still be reached.
    """
    figure = QPS[name][slo_ms == 10]
    runtime = runtime_of(name, slo_ms)
    within = DEAR.get(name, 0.04)
    for factor, holds in ((1 - within, True), (1 + within, False)):
        if name in DEAR:
            ends = runtime(Draw(3, 2000, [1.0]).trace(factor * figure), most_late=100)
            assert (ends is not None) is holds
        else:
            shares = [share_in_time(runtime, factor * figure, slo_ms, seed) for seed in (1, 2, 3)]
            assert (sum(shares) / 3 >= 0.95) is holds, shares


@pytest.mark.parametrize("name", schedulers(under_interference=True))
@pytest.mark.parametrize("seed", range(6))
def test_no_more_cores_are_held_than_there_are_and_every_query_is_carried_out(name, seed):
    draw = random.Random(seed)
    chains = [random_chain(draw, layers=draw.randint(1, 6), counts=4, most_us=4000) for _ in range(2)]
    slos = [int(chain.total_us.min()) / 1000 * draw.uniform(1, 4) + 0.001 for chain in chains]
    tables = [Timetable(quotas_of(chain, slo)) for chain, slo in zip(chains, slos, strict=True)]
    machine = Machine(cores=draw.choice([8, 10, 16]), grow_ms=draw.choice([0, 0.2]))
    runtime = scheduler_named(name).start(tables, [0.5, 0.5], machine)
    trace = Draw(seed, 60, [0.5, 0.5]).trace(draw.choice([100, 300, 1000]))
    spans = []
    ends = runtime(trace, spans=spans)
    assert most_held(spans) <= machine.cores
    assert all(span.begin_ms >= trace.arrivals_ms[span.query] - 1e-9 for span in spans)
    assert all(span.begin_ms <= span.runs_ms <= span.end_ms for span in spans)
    for number, chain in enumerate(chains):
        own = [span for span in spans if trace.model[span.query] == number]
        for query in {span.query for span in own if np.isfinite(ends[span.query])}:
            assert max(span.end_ms for span in own if span.query == query) == ends[query]
        if name in BETWEEN_LAYERS:
            done = layers_done(own, chain.us.tolist(), chain.cores.tolist())
            assert done is not None
            for query, layers in done.items():
                assert (layers == len(chain.us)) is bool(np.isfinite(ends[query])), query
    if name not in (*BETWEEN_LAYERS, "cpu-static"):
        assert np.isfinite(ends).all()
    latency = ends - np.array(trace.arrivals_ms)
    in_time = sum(one <= slos[m] + 1e-6 for one, m in zip(latency, trace.model, strict=True))
    work = [least_work(chain, slo) for chain, slo in zip(chains, slos, strict=True)]
    assert in_time <= 60 * most_in_time(np.array(trace.arrivals_ms), np.array(trace.model), work, machine.cores) + 1e-6


@pytest.mark.parametrize("name", schedulers(under_interference=True))
def test_a_run_that_counts_late_queries_stops_where_too_many_are(name):
    runtime = runtime_of(name, 15, ("resnet50", "googlenet"))
    trace = Draw(1, 150, [0.5, 0.5]).trace(400)
    ends = runtime(trace)
    late = int((ends - np.array(trace.arrivals_ms) > 15 + 1e-6).sum())
    assert np.array_equal(runtime(trace, most_late=late), ends)
    assert late == 0 or runtime(trace, most_late=late - 1) is None


def test_a_query_alone_takes_its_models_time():
    for name, ms in (("model-wise", 11.456), ("cpu-static", 6.331), ("prema", 4.29)):
        assert runtime_of(name, 15)(Draw(1, 1, [1.0]).trace(1)) - Draw(1, 1, [1.0]).arrivals_ms(1) == pytest.approx(ms)


def test_an_unknown_scheduler_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"is 'veltar'. Did you mean 'veltair'"):
        scheduler_named("veltar")


def test_the_rate_that_is_carried_is_found_by_bisection():
    runtime = runtime_of("model-wise", 15)
    rate = carried_rps(runtime, Draw(1, 300, [1.0]))
    assert share_in_time(runtime, rate, 15, 1, 300) >= 0.95 - 1e-9
    assert share_in_time(runtime, rate * 1.006, 15, 1, 300) < 0.95


@pytest.mark.parametrize(("slo_ms", "rate_rps"), [(15, 257), (10, 167)])
def test_cores_by_the_time_left_carry_half_as_much_again_as_veltair(slo_ms, rate_rps):
    """Rates 77 and 111 % above VELTAIR's; 265 and 172 were found. A prototype that changes anywhere had 255 and 165."""
    shares = [share_in_time(runtime_of("by-time-left", slo_ms), rate_rps, slo_ms, seed) for seed in (1, 2, 3)]
    assert sum(shares) / 3 >= 0.95, shares
