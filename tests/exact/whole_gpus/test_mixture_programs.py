"""Whole GPUs and mixtures of vertices, against all numbers of GPUs and programs over all choices of covers."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.whole_gpus import mixture_programs
from sliceplan.solver.exact.whole_gpus.mixture_programs import (
    carried_by_counts,
    cheapest_gpus,
    cheapest_parts,
    fewest_partitions,
)
from sliceplan.solver.exact.whole_gpus.vertices import Vertices


def vertices(demand, gpu_cost):
    """Returns directions in which these vertices were found, each of which takes a cover of its number."""
    proven = SimpleNamespace(prices=SimpleNamespace(gpu_cost=np.array(gpu_cost)))
    return SimpleNamespace(demand=list(demand), taken=[np.array([i]) for i in range(len(demand))], proven=proven)


def carried(room, first, second):
    """Returns from where to where the second of two vertices may be mixed in, so that there is room; None: nowhere."""
    low, high = 0.0, 1.0
    for there, a, b in zip(room, first, second, strict=True):
        if b > a:
            high = min(high, (there - a) / (b - a))
        elif b < a:
            low = max(low, (a - there) / (a - b))
        elif there < a:
            return None
    return (low, high) if low <= high else None


def drawn_gpus(draw):
    cuts = np.array([[2, 0], [1, 1], [0, 2]])
    cost = draw.integers(2, 6, 3)
    supply = Supply(cuts, np.array([0, 0, 1]), cost.astype(float), np.array([draw.choice([2.0, np.inf]), np.inf]))
    return supply, vertices(draw.integers(0, 9, (2, 2)), cost)


@pytest.mark.parametrize("seed", range(12))
def test_whole_gpus_carry_their_mixture_and_none_are_cheaper_or_have_fewer_partitions(seed):
    """By all numbers of each cut, of which it is told by hand whether they carry a mixture of two vertices."""
    supply, found = drawn_gpus(np.random.default_rng(seed))
    of_cost = {}
    for times in product(range(11), repeat=3):
        if times[0] + times[1] <= supply.available[0]:
            mixed = carried(np.array(times) @ supply.instances, *found.demand)
            if mixed is not None:
                number = [float(one.sum()) for one in found.demand]
                fewest = min((1 - t) * number[0] + t * number[1] for t in mixed)
                steps = int(np.array(times) @ found.proven.prices.gpu_cost)
                of_cost[steps] = min(fewest, of_cost.get(steps, np.inf))
    if not of_cost:  # too few of the type that alone has the first size
        assert cheapest_gpus(supply, found, 0) is None
        return
    least = min(of_cost)
    for at_least in (0, least, least + 1):
        cheapest = cheapest_gpus(supply, found, at_least)
        steps = int(cheapest.cuts @ found.proven.prices.gpu_cost)
        assert steps == min(steps for steps in of_cost if steps >= at_least)
        fewest = fewest_partitions(supply, found, steps)
        for one in (cheapest, fewest):
            assert one.cuts @ found.proven.prices.gpu_cost == steps
            assert one.part.sum() == pytest.approx(1)
            mixture = one.part @ np.array(found.demand)
            assert (one.cuts @ supply.instances >= mixture - 1e-5).all()
            assert one.cuts[:2].sum() <= supply.available[0]
        assert mixture.sum() <= of_cost[steps] * (1 + mixture_programs.FEW_ENOUGH) + 1e-5


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_gpus_cost_what_scarce_sizes_say_of_every_vertex(seed):
    """Duality: no cut is worth more than it costs and its rent, and the vertices are worth the cost, less rents."""
    supply, found = drawn_gpus(np.random.default_rng(seed))
    scarce = cheapest_parts(supply, found)
    rent = max(0.0, *(supply.instances[:2] @ scarce.scarcity - supply.cost[:2]).tolist())
    assert (scarce.scarcity >= -1e-9).all()
    assert supply.instances[2] @ scarce.scarcity <= supply.cost[2] + 1e-6
    # GPUs beyond the count cost as much again.
    assert rent <= (supply.cost[1] if np.isfinite(supply.available[0]) else 0.0) + 1e-6
    rents = rent * supply.available[0] if rent > 1e-6 else 0.0
    assert min(one @ scarce.scarcity for one in found.demand) - rents == pytest.approx(scarce.steps, abs=1e-5)
    beyond = max(scarce.cuts[:2].sum() - supply.available[0], 0.0)
    assert supply.cost @ scarce.cuts + beyond * supply.cost[1] == pytest.approx(scarce.steps, abs=1e-5)
    assert (scarce.part @ np.array(found.demand) <= scarce.cuts @ supply.instances + 1e-5).all()


def test_a_size_that_no_gpu_holds_has_no_price():
    none = Supply(np.array([[2, 0]]), np.zeros(1, dtype=np.int64), np.array([3.0]), np.array([np.inf]))
    two = vertices([np.array([1, 1]), np.array([0, 3])], [3])
    assert cheapest_parts(none, two).scarcity is None
    assert cheapest_gpus(none, two, 0) is None


def drawn_covers(draw):
    """Returns covers of three groups, of which those that cost as much as the group's cheapest are tied."""
    owner = np.repeat([0, 1, 2], draw.integers(2, 5, 3))
    covers = SimpleNamespace(counts=draw.integers(0, 5, (len(owner), 3)), owner=owner, members=draw.integers(1, 4, 3))
    reduced = draw.integers(0, 3, len(owner))
    reduced[np.searchsorted(owner, [0, 1, 2])] = 0
    prices = SimpleNamespace(gpu_cost=np.array([3, 3, 5]), in_steps=draw.uniform(0.5, 2.0, 3))
    return SimpleNamespace(covers=covers, reduced=reduced, prices=prices)


def all_choices(proven, dearer):
    covers = proven.covers
    rows = [np.flatnonzero((covers.owner == group) & (proven.reduced <= dearer)) for group in range(3)]
    return np.array([covers.members @ covers.counts[list(chosen)] for chosen in product(*rows)])


def some_mixture_fits(room, demands):
    equal = np.ones((1, len(demands)))
    return linprog(np.zeros(len(demands)), demands.T, room, equal, [1.0]).status == 0


@pytest.mark.parametrize("seed", range(30))
def test_given_gpus_carry_a_mixture_that_is_found_or_none_of_all_choices(seed):
    """Property: from one vertex on, of covers that cost a little more, too."""
    draw = np.random.default_rng(seed)
    proven, dearer = drawn_covers(draw), int(draw.integers(0, 3))
    found, every = Vertices(proven), all_choices(proven, dearer)
    found.add(np.ones(3), 0)
    instances = np.array([[2, 0, 1], [1, 1, 0], [0, 2, 2]])
    supply = Supply(instances, np.array([0, 0, 1]), np.array([3.0, 3.0, 5.0]), np.array([np.inf, np.inf]))
    middle = every[draw.integers(0, len(every), 3)].mean(axis=0) @ np.linalg.inv(instances)
    cuts = np.maximum(np.rint(middle + draw.integers(-1, 3, 3)), 0).astype(np.int64)
    mixed = mixture_programs._carried(supply, found, cuts, dearer)
    assert (mixed is not None) == some_mixture_fits(cuts @ instances, every)
    if mixed is not None:
        assert mixed.cuts is cuts
        assert mixed.part.sum() == pytest.approx(1)
        assert (mixed.part @ np.array(found.demand) <= cuts @ instances + 1e-5).all()


@pytest.mark.parametrize("seed", range(12))
def test_gpus_of_given_counts_are_those_that_leave_the_vertices_known_the_least_short(seed):
    draw = np.random.default_rng(seed)
    proven = drawn_covers(draw)
    found = Vertices(proven)
    found.add(np.ones(3), 0)
    known = found.demand[0]
    instances, cost = np.array([[2, 0, 1], [1, 1, 0], [0, 2, 2]]), proven.prices.gpu_cost
    available = draw.integers(1, 9, 2).astype(np.float64)
    supply = Supply(instances, np.array([0, 0, 1]), cost.astype(np.float64), available)
    kept = [np.array(x) for x in product(range(10), repeat=3) if x[0] + x[1] <= available[0] and x[2] <= available[1]]
    at_least = max(int(cost @ x) for x in kept)
    short = [float(np.maximum(known - x @ instances, 0) @ proven.prices.in_steps) for x in kept if cost @ x >= at_least]
    near = mixture_programs.SHORT_ENOUGH * int(cost.min())
    mixed = carried_by_counts(supply, found, at_least, 0)
    if mixed is None:
        assert min(short) > near
        return
    taken = mixed.cuts @ instances
    assert mixed.cuts[0] + mixed.cuts[1] <= available[0]
    assert mixed.cuts[2] <= available[1]
    assert cost @ mixed.cuts >= at_least
    assert float(np.maximum(known - taken, 0) @ proven.prices.in_steps) <= min(short) + near
    assert (mixed.part @ np.array(found.demand) <= taken + 1e-5).all()


def test_where_no_time_is_left_nothing_is_found(monkeypatch):
    def too_late(*_, **__):
        raise TimeoutError

    proven = drawn_covers(np.random.default_rng(0))
    found = Vertices(proven)
    found.add(np.ones(3), 0)
    supply = Supply(np.eye(3, dtype=np.int64), np.arange(3), np.array([3.0, 3.0, 5.0]), np.full(3, np.inf))
    monkeypatch.setattr(mixture_programs, "least_cost", too_late)
    assert cheapest_parts(supply, found).scarcity is None
    assert carried_by_counts(supply, found, 0, 0) is None
