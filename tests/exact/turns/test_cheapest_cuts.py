"""Prices of partitions and of replicas against the program that they are duals of; whole GPUs against all counts."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from sliceplan.solver.exact.cost_lattice import lattice_of
from sliceplan.solver.exact.turns.columns.slot_prices import slot_prices
from sliceplan.solver.exact.turns.columns.slots import Content
from sliceplan.solver.exact.turns.columns.time_shares import Cut, MostReplicas
from sliceplan.solver.exact.turns.columns.whole_gpus import gpus_for

CUTS = [Cut("A", 3.0, {0: 4}), Cut("A", 3.0, {0: 1, 1: 1}), Cut("B", 2.0, {2: 1})]


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_prices_of_slots_say_what_the_least_gpus_cost(seed, limited):
    """Property: no cut is worth more than it costs, and services pay the least cost together, by another solver."""
    draw = np.random.default_rng(seed)
    services = 5
    shares = np.where(draw.random((3, services)) < 0.2, np.inf, draw.uniform(0.05, 1, (3, services)))
    shares[2] = draw.uniform(0.05, 1, services)
    parts = draw.uniform(0.2, 1, (3, services))
    most = (
        np.where(draw.random(services) < 0.5, draw.integers(2, 4, services), np.inf) if limited else [np.inf] * services
    )
    replicas = MostReplicas(np.array(most, dtype=float), parts)
    columns = [(k, w) for k, w in product(range(3), range(services)) if np.isfinite(shares[k, w])]
    rows, limits = [], []
    for k in range(3):
        of_parts = [float(shares[k, w]) if own == k else 0.0 for own, w in columns]
        rows.append([*of_parts, *(-cut.counts.get(k, 0) for cut in CUTS)])
        limits.append(0.0)
    for w in range(services):
        rows.append([*(-float(own == w) for _, own in columns), 0, 0, 0])
        limits.append(-1.0)
        if np.isfinite(replicas.most[w]):
            rows.append([*(float(own == w) / parts[k, own] for k, own in columns), 0, 0, 0])
            limits.append(replicas.most[w])
    least = linprog([0.0] * len(columns) + [cut.usd for cut in CUTS], A_ub=rows, b_ub=limits)
    slot_usd, replica_usd = slot_prices(shares, CUTS, replicas)
    if least.status != 0:
        assert not slot_usd.any()
        assert not replica_usd.any()
        return
    assert (slot_usd >= 0).all()
    assert (replica_usd >= 0).all()
    assert all(sum(slot_usd[k] * count for k, count in cut.counts.items()) <= cut.usd * (1 + 1e-7) for cut in CUTS)
    paid = 0.0
    for w in range(services):
        own = [shares[k, w] * slot_usd[k] + replica_usd[w] / parts[k, w] for k in range(3) if np.isfinite(shares[k, w])]
        paid += min(own) - (replicas.most[w] * replica_usd[w] if np.isfinite(replicas.most[w]) else 0.0)
    assert paid == pytest.approx(least.fun, rel=1e-6)


def test_services_that_no_partition_serves_have_no_prices():
    shares = np.array([[0.5, np.inf], [0.5, np.inf], [0.5, np.inf]])
    prices = slot_prices(shares, CUTS, MostReplicas(np.full(2, np.inf), np.ones((3, 2))))
    assert [one.tolist() for one in prices] == [[0.0] * 3, [0.0] * 2]


@pytest.mark.parametrize("seed", range(12))
def test_whole_gpus_have_all_partitions_and_none_are_cheaper(seed):
    """By all numbers of each cut; of the first type there are few, or none, or as many as needed."""
    draw = np.random.default_rng(seed)
    slots = draw.integers(0, 3, int(draw.integers(1, 6))).tolist()
    available = {"A": [None, 0, 1, 2][seed % 4], "B": [None, 1][seed % 2]}
    price = {"A": 3.0, "B": 2.0}
    cuts = [*CUTS, Cut("B", 2.0, {0: 2})]
    feasible = [
        sum(number * cut.usd for number, cut in zip(times, cuts, strict=True))
        for times in product(range(len(slots) + 1), repeat=len(cuts))
        if all(
            sum(number * cut.counts.get(k, 0) for number, cut in zip(times, cuts, strict=True)) >= slots.count(k)
            for k in range(3)
        )
        and all(
            most is None or sum(number for number, cut in zip(times, cuts, strict=True) if cut.gpu == gpu) <= most
            for gpu, most in available.items()
        )
    ]
    found = gpus_for([Content(k, (0,), (1.0,)) for k in slots], cuts, available, lattice_of(price), 10.0)
    assert (found is None) == (not feasible)
    if found is not None:
        assert sum(number * cut.usd for number, cut in zip(found, cuts, strict=True)) == pytest.approx(min(feasible))
        for k in range(3):
            there = sum(number * cut.counts.get(k, 0) for number, cut in zip(found, cuts, strict=True))
            assert there >= slots.count(k)
        for gpu, most in available.items():
            used = sum(number for number, cut in zip(found, cuts, strict=True) if cut.gpu == gpu)
            assert most is None or used <= most
