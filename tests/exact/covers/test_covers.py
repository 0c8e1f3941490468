"""Covers of many workloads: in chunks, in halves and by several threads they are as each by itself."""

from dataclasses import replace

import numpy as np
import pytest

from sliceplan.solver.exact.covers import covers as module
from sliceplan.solver.exact.covers.cover_search import covers_within
from sliceplan.solver.exact.covers.covers import cheapest_covers, number_of_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.good_covers import fluid, good_covers
from sliceplan.solver.exact.covers.shared_rates import SharedRates

MANY = 1 << 20
PRICE = np.array([1.0, 1.7, 2.9])


def drawn(seed, workloads, *, shared):
    draw = np.random.default_rng(seed)
    part = draw.choice([0.0, 0.2, 0.25, 1 / 3, 0.5, 1.0], (workloads, 3))
    part[:, 0] = 0.1
    rates = SharedRates(draw.uniform(0.3, 2, (workloads, 1)), np.full((workloads, 1), 0.1), np.array([10.0]))
    return Demands(
        part,
        draw.choice([1, 2], workloads),
        draw.choice([12, NO_LIMIT], workloads),
        rates if shared else None,
    )


def prices(demands):
    return PRICE if demands.shared is None else np.append(PRICE, 4.0)


def assert_same(found, demands, slack):
    """Asserts that the covers are those of each workload alone, in their order."""
    expected = [
        covers_within(demands.of(np.array([w])), prices(demands), slack[[w]], MANY) for w in range(len(demands.least))
    ]
    assert found.workload.tolist() == [w for w, own in enumerate(expected) for _ in own.counts]
    assert found.counts.tolist() == [row for own in expected for row in own.counts.tolist()]
    assert found.floor.tolist() == [own.floor[0] for own in expected]
    assert found.first().tolist() == np.cumsum([0, *(len(own.counts) for own in expected[:-1])]).tolist()
    shared = None if demands.shared is None else [row for own in expected for row in own.shared.tolist()]
    assert (found.shared is None) == (shared is None)
    assert shared is None or found.shared.tolist() == shared
    together = found.counts if shared is None else np.hstack([found.counts, np.array(shared)])
    assert found.taken.tolist() == together.tolist()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("workloads", "chunk"), [(1, 1), (5, 5), (5, 4), (7, 2), (6, 3)])
def test_chunks_by_several_threads_are_in_the_order_of_the_workloads(monkeypatch, shared, workloads, chunk):
    demands, slack = drawn(workloads, workloads, shared=shared), np.linspace(0, 0.3, workloads)
    monkeypatch.setattr(module, "CHUNK", chunk)
    found = cheapest_covers(demands, prices(demands), slack)
    assert_same(found, demands, slack)
    assert not found.unlisted.size
    assert_same(cheapest_covers(demands, prices(demands), 0.1), demands, np.full(workloads, 0.1))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("workloads", [2, 3, 7])
def test_too_many_partial_covers_at_once_are_listed_in_halves(monkeypatch, shared, workloads):
    """Each workload alone has few enough of them, any two have too many."""
    demands, slack = drawn(20 + workloads, workloads, shared=shared), np.full(workloads, 0.3)
    asked = []

    def alone_only(own, price, slack, _):
        asked.append(len(own.least))
        return covers_within(own, price, slack, MANY) if len(own.least) == 1 else None

    monkeypatch.setattr(module, "covers_within", alone_only)
    found = cheapest_covers(demands, prices(demands), slack)
    assert_same(found, demands, slack)
    assert not found.unlisted.size
    assert asked[0] == workloads
    assert asked.count(1) == workloads


@pytest.mark.parametrize("shared", [False, True])
def test_who_alone_has_too_many_has_a_good_cover_and_the_bound_of_a_fluid(monkeypatch, shared):
    demands, slack = drawn(9, 5, shared=shared), np.full(5, 0.3)
    many = (1, 4)
    plain = demands.part[list(many)].tolist()

    def few(own, price, slack, most_states):
        return None if any(row in plain for row in own.part.tolist()) else covers_within(own, price, slack, most_states)

    monkeypatch.setattr(module, "covers_within", few)
    found = cheapest_covers(demands, prices(demands), slack)
    listed = [w for w in range(5) if demands.part[w].tolist() in plain]
    assert found.unlisted.tolist() == listed
    for w in listed:
        own = demands.of(np.array([w]))
        good = good_covers(own, prices(demands))
        assert found.counts[found.workload == w].tolist() == good.counts.tolist()
        assert found.floor[w] == fluid(own, prices(demands))[0] <= good.cost[0] * (1 + 1e-9)
        assert not shared or found.shared[found.workload == w].tolist() == good.shared.tolist()
    others = [w for w in range(5) if w not in listed]
    assert others
    for w in others:
        expected = covers_within(demands.of(np.array([w])), prices(demands), slack[[w]], MANY)
        assert found.counts[found.workload == w].tolist() == expected.counts.tolist()
        assert found.floor[w] == expected.floor[0]


@pytest.mark.parametrize("shared", [False, True])
def test_nobody_has_no_covers(shared):
    nobody = drawn(1, 2, shared=shared).of(np.zeros(0, dtype=np.int64))
    found = cheapest_covers(nobody, prices(nobody))
    assert found.counts.shape == (0, 3)
    assert (found.workload.size, found.floor.size, found.unlisted.size) == (0, 0, 0)
    assert (found.shared is not None) == shared
    assert not shared or found.shared.shape == (0, 1)


def test_covers_are_counted_by_partitions_alone():
    demands, slack = drawn(4, 3, shared=True), np.full(3, 0.2)
    plain = replace(demands, shared=None)
    assert number_of_covers(demands, PRICE, slack, most_states=MANY) == len(
        cheapest_covers(plain, PRICE, slack).workload
    )
    assert number_of_covers(demands, PRICE, slack, most_states=1) is None
