"""Where workloads are cheapest at prices: by partitions or as residents, by trying every number of each size."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.shared_rates import SharedRates
from sliceplan.solver.exact.primal import cheapest_ways as module
from sliceplan.solver.exact.primal.cheapest_ways import CUT, cheapest_types, costs_by_way


def drawn(seed):
    """Returns demands of five workloads on two sizes and two types under MPS, prices and how dear residents are."""
    draw = np.random.default_rng(seed)
    part = draw.uniform(0.2, 1.0, (5, 2)) * (draw.random((5, 2)) < 0.7)
    fluid = np.where(draw.random((5, 2)) < 0.6, draw.uniform(0.1, 1.0, (5, 2)), np.inf)
    shared = SharedRates(fluid, np.where(np.isfinite(fluid), 0.1, np.inf), np.full(2, 10.0))
    demands = Demands(part, np.ones(5, dtype=np.int64), np.full(5, NO_LIMIT), shared)
    # A type that costs nothing, too.
    return demands, np.append(draw.uniform(0.5, 2.0, 3), draw.choice([0.0, 1.0])), draw.uniform(1.0, 1.5, 2)


def by_trying(part, price):
    """Returns the least cost of partitions that carry all; inf: none do."""
    carry = (counts for counts in product(range(7), repeat=2) if np.dot(counts, part) >= 1 - 1e-9)
    return min((float(np.dot(counts, price)) for counts in carry), default=np.inf)


def test_each_is_where_it_costs_least_and_cut_where_that_costs_no_more():
    """Property: who can be nowhere counts as cut."""
    ends = set()
    for seed in range(40):
        demands, price, dearness = drawn(seed)
        by_shares, by_partitions = costs_by_way(demands, price, dearness)
        on_type = cheapest_types(demands, price, dearness)
        for w in range(5):
            cut = by_trying(demands.part[w], price[:2])
            fluid = demands.shared.gpus[w]
            ways = [
                f * usd * dear if f < np.inf else np.inf
                for f, usd, dear in zip(fluid, price[2:], dearness, strict=True)
            ]
            assert by_partitions[w] == pytest.approx(cut)
            assert by_shares[w] == pytest.approx(ways)
            least = min(ways)
            assert on_type[w] == (CUT if cut <= least else ways.index(least))
            ends.add((int(on_type[w]), cut == least == np.inf))
    assert ends == {(CUT, False), (CUT, True), (0, False), (1, False)}


def test_without_gpus_under_mps_all_are_cut():
    demands = Demands(np.ones((2, 1)), np.ones(2, dtype=np.int64), np.full(2, NO_LIMIT))
    assert cheapest_types(demands, np.ones(1), np.ones(0)).tolist() == [CUT, CUT]
    with pytest.raises(ValueError, match="MPS"):
        costs_by_way(demands, np.ones(1), np.ones(0))


def test_hosts_are_packed_type_by_type_and_there_are_none_if_somebody_has_no_place(monkeypatch):
    asked = []

    def packed(resolved, rows, gpu):
        asked.append((resolved.name, rows.tolist(), gpu))
        return None if rows.tolist() == [5] else [f"{gpu} with {rows.tolist()}"]

    monkeypatch.setattr(module, "packed_some", packed)
    resolved = SimpleNamespace(name="all", mps={"A": None, "B": None, "C": None})
    assert module.hosts_of(resolved, np.array([2, CUT, 0, 2])) == ["A with [2]", "C with [0, 3]"]
    assert asked == [("all", [2], "A"), ("all", [0, 3], "C")]
    assert module.hosts_of(resolved, np.array([CUT])) == []
    assert module.hosts_of(resolved, np.array([0, 0, 0, 0, 0, 1])) is None
