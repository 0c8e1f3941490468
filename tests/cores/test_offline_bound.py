"""What no runtime can exceed: against random runtimes that keep every rule, and near the figures of a prototype."""

import random
from itertools import combinations

import numpy as np
import pytest
from oracles.core_time_oracle import least_core_us
from problems.layer_chains import published_chain, random_chain
from scipy.optimize import linprog
from scipy.sparse import coo_array

from sliceplan.solver.cores.chain import Chain
from sliceplan.solver.cores.offline_bound import least_work, most_in_time
from sliceplan.solver.cores.qps import Draw

SINGLE = np.zeros(1, dtype=int)


@pytest.mark.parametrize("seed", range(60))
def test_no_sequence_of_counts_takes_less_than_the_least_work(seed):
    draw = random.Random(seed)
    chain = random_chain(draw, layers=draw.randint(1, 5), counts=draw.randint(1, 4))
    limit = int(chain.total_us.min()) + draw.randint(0, 60)
    work = least_work(chain, limit / 1000)
    assert 1000 * work.core_ms <= least_core_us(chain.us.tolist(), chain.cores.tolist(), limit) + 1e-6
    unhurried = least_work(chain, 10.0)
    assert 1000 * unhurried.core_ms == pytest.approx((chain.us * chain.cores).min(axis=1).sum())


@pytest.mark.parametrize("seed", range(40))
def test_no_random_runtime_ends_more_queries_in_time(seed):
    """Each query runs a microsecond at a time on a random count of the free cores, and may stop and change anywhere."""
    draw = random.Random(seed)
    models = [random_chain(draw, layers=draw.randint(1, 3), counts=3, most_us=12) for _ in range(2)]
    limits = [int(model.total_us.min()) + draw.randint(0, 20) for model in models]
    cores = draw.choice([2, 4, 6, 8])
    arrivals = sorted(draw.randint(0, 40) for _ in range(8))
    of = [draw.randint(0, 1) for _ in arrivals]
    chosen = {query for query in range(8) if draw.random() < 0.7}  # whom this runtime serves at all
    ended = sum(
        end is not None and end <= arrival + limits[m]
        for end, arrival, m in zip(
            _random_runtime(draw, models, arrivals, of, cores, chosen), arrivals, of, strict=True
        )
    )
    work = [least_work(model, limit / 1000) for model, limit in zip(models, limits, strict=True)]
    share = most_in_time(np.array(arrivals) / 1000, np.array(of), work, cores)
    assert ended <= 8 * share + 1e-6
    assert ended <= round(8 * most_in_time(np.array(arrivals) / 1000, np.array(of), work, cores, 50))


@pytest.mark.parametrize("seed", range(25))
def test_of_whole_queries_the_most_are_those_of_the_largest_set_that_may_be_in_time_together(seed):
    """Every set is tried. With few programs the bound is between that and the one that counts parts."""
    draw = random.Random(seed)
    models = [random_chain(draw, layers=draw.randint(1, 3), counts=3, most_us=12) for _ in range(2)]
    work = [least_work(one, (int(one.total_us.min()) + draw.randint(0, 20)) / 1000) for one in models]
    cores = draw.choice([4, 6, 8])
    arrivals = np.array(sorted(draw.randint(0, draw.choice([10, 60])) for _ in range(7))) / 1000
    of = np.array([draw.randint(0, 1) for _ in arrivals])
    parts = 7 * most_in_time(arrivals, of, work, cores)

    def together(chosen):
        some = list(chosen)
        return most_in_time(arrivals[some], of[some], work, cores) > 1 - 1e-7

    most = next(n for n in range(7, -1, -1) if any(together(some) for some in combinations(range(7), n)))
    assert [round(7 * most_in_time(arrivals, of, work, cores, n), 6) for n in (500, 1000)] == [most, most]
    for few in (1, 3, 5):
        assert most <= round(7 * most_in_time(arrivals, of, work, cores, few), 6) <= np.floor(parts + 1e-6)


def test_counting_whole_queries_lowers_the_bound_of_resnet50():
    arrivals, work = Draw(1, 600, [1.0]).arrivals_ms(230), [least_work(published_chain("resnet50"), 10)]
    lost = [600 * (1 - most_in_time(arrivals, np.zeros(600, dtype=int), work, 64, n)) for n in (0, 12, 100)]
    assert 17 < lost[0] < 18
    assert lost[1] >= 25
    assert lost[2] == pytest.approx(27)


def _random_runtime(draw, models, arrivals, of, cores, chosen):
    left = [[1.0] * len(models[m].us) for m in of]
    ends = [None] * len(of)
    for now in range(120):
        free = cores
        present = [query for query in chosen if arrivals[query] <= now and ends[query] is None]
        present.sort(key=lambda query: (arrivals[query], draw.random()))
        for query in present:
            chain = models[of[query]]
            counts = [c for c, count in enumerate(chain.cores.tolist()) if count <= free]
            if not counts:
                continue
            c = draw.choice([counts[-1], draw.choice(counts)])
            free -= int(chain.cores[c])
            time = 1.0
            while time > 1e-9 and ends[query] is None:
                layer = next(number for number, part in enumerate(left[query]) if part > 0)
                part = min(left[query][layer], time / float(chain.us[layer, c]))
                time -= part * float(chain.us[layer, c])
                left[query][layer] -= part
                if left[query][layer] < 1e-9:
                    left[query][layer] = 0.0
                    if layer == len(left[query]) - 1:
                        ends[query] = now + 1 - time
    return ends


def test_one_query_alone_is_served_and_a_crowd_in_proportion():
    chain = published_chain("resnet50")
    work = [least_work(chain, 15)]
    assert most_in_time(np.array([0.0]), SINGLE, work, 64) == pytest.approx(1)
    crowd = most_in_time(np.zeros(100), np.zeros(100, dtype=int), work, 64)
    assert crowd == pytest.approx(64 * 15 / work[0].core_ms / 100)
    assert most_in_time(np.empty(0), np.empty(0, dtype=int), work, 64) == 1


def test_the_least_work_of_resnet50_is_just_below_that_of_whole_layers():
    chain = published_chain("resnet50")
    assert 178.3 < least_work(chain, 15).core_ms <= 178.376
    assert 184.1 < least_work(chain, 10).core_ms <= 184.248


def _prototypes_most(arrivals, slo_ms, core_ms, most_cores, cores):
    """The prototype's program: each query at most so many cores at once; the queries in time, parts counted."""
    ends = arrivals + slo_ms
    moments = np.unique(np.concatenate([arrivals, ends]))
    pairs = [
        (query, k)
        for query, (begin, end) in enumerate(zip(arrivals, ends, strict=True))
        for k in range(np.searchsorted(moments, begin), np.searchsorted(moments, end))
    ]
    length = np.diff(moments)
    rows = [query for query, _ in pairs] + [len(arrivals) + k for _, k in pairs]
    matrix = coo_array((np.ones(len(rows)), (rows, [*range(len(pairs))] * 2)))
    upper = np.concatenate([core_ms, cores * length[: matrix.shape[0] - len(arrivals)]])
    bounds = [(0, most_cores[query] * length[k]) for query, k in pairs]
    worth = [-1 / core_ms[query] for query, _ in pairs]
    return -linprog(worth, A_ub=matrix.tocsr(), b_ub=upper, bounds=bounds).fun


@pytest.mark.parametrize(("slo_ms", "core_ms", "published"), [(15, 178.376, 321), (10, 184.248, 257)])
def test_the_bound_is_near_the_prototypes_which_limits_a_query_more(slo_ms, core_ms, published):
    """
    The prototype lets a query take least core-time / least time cores at once (41.6).

    With that limit its figure comes back within 1.5 %, here said again as a program of its own. Without it the bound is
    above, by the limit's worth. That limit is no bound for every model (the next test); whether some runtime exceeds
    the prototype's figures for ResNet-50 is not known.
    """
    chain = published_chain("resnet50")
    arrivals = np.random.default_rng(1).exponential(size=600).cumsum() * 1000
    work = [least_work(chain, slo_ms)]

    def share(rate):
        return most_in_time(arrivals / rate, np.zeros(600, dtype=int), work, 64)

    every = np.ones(600)
    for rate, limited in ((published * 0.985, True), (published * 1.005, False)):
        most = _prototypes_most(arrivals / rate, slo_ms, core_ms * every, core_ms / 4.29 * every, 64)
        assert (most >= 0.95 * 600) is limited
    assert share(published) >= 0.95
    assert share(published * 1.04) < 0.95


def test_a_runtime_exceeds_the_prototypes_limit_on_cores_at_once():
    """
    Two queries on 64 cores, both in time, of which the prototype's program admits one and three quarters.

    The first takes 88 core-ms in 4 ms, on average 22 cores, but 64 of them in its first millisecond; those of the
    second keep 56 cores busy thereafter.
    """
    steep_then_flat = Chain("first", np.array([8, 64]), np.array([[8000, 1000], [3000, 3000]]), np.ones(2, dtype=int))
    single = Chain("second", np.array([56]), np.array([[3000]]), np.ones(1, dtype=int))
    chains, arrivals, slos = [steep_then_flat, single], np.array([0.0, 1.0]), np.array([4.0, 3.0])
    # (query, layer, cores, from ms)
    timetable = [(0, 0, 64, 0.0), (0, 1, 8, 1.0), (1, 0, 56, 1.0)]
    ready = arrivals.copy()
    held = np.zeros(4)  # by whole ms
    for query, layer, cores, begin in timetable:
        assert begin >= ready[query]
        chain = chains[query]
        ready[query] = begin + chain.us[layer, list(chain.cores).index(cores)] / 1000
        held[int(begin) : int(ready[query])] += cores
    assert all(ready <= arrivals + slos)
    assert all(held <= 64)
    least = [
        least_core_us(chain.us.tolist(), chain.cores.tolist(), int(slo * 1000)) / 1000
        for chain, slo in zip(chains, slos, strict=True)
    ]
    assert least == [88, 168]
    most_cores = [one / (chain.total_us.min() / 1000) for one, chain in zip(least, chains, strict=True)]
    assert most_cores == [22, 56]
    limited = _prototypes_most(arrivals, slos, np.array(least), most_cores, 64)
    assert limited == pytest.approx(1 + (64 * 3 - 22 * 3) / 168)  # the first in full, for the second what it leaves
    work = [least_work(chain, slo) for chain, slo in zip(chains, slos, strict=True)]
    assert most_in_time(arrivals, np.arange(2), work, 64) == pytest.approx(1)
