"""The integer program of covers against every choice of covers, of who is served elsewhere, and of cut GPUs."""

from itertools import combinations, combinations_with_replacement, product
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.cost_lattice import lattice_of
from sliceplan.solver.exact.covers.undecided_classes import Classes, UndecidedClasses
from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.mps.program import MpsAnswer, MpsPart
from sliceplan.solver.exact.primal import restricted_master as module
from sliceplan.solver.exact.primal.restricted_master import MpsChoice, choose_covers

CUTS, TYPE_OF_CUT = np.array([[2, 0], [1, 1], [0, 3]]), np.array([0, 0, 1])
SLICES = np.array([1.0, 4.0])


def drawn(seed, *, always=0, prices=((3.0, 2.0), (2.99, 3.6))):
    """Returns seven workloads of which the first five are in classes of one, two and two, and GPUs of two types."""
    draw = np.random.default_rng(seed)
    member = draw.permutation(5)
    covers = draw.integers(1, 4, 3)
    counts = draw.integers(0, 3, (int(covers.sum()), 2))
    counts[counts.sum(axis=1) == 0] = 1
    decided = draw.integers(0, 2, (7, 2))
    decided[:, 0] += 1
    classes = Classes(member, np.array([1, 2, 2]), counts, covers)
    usd = prices[seed % len(prices)]
    available = np.array([draw.choice([inf, 3.0, 4.0]), draw.choice([inf, 1.0])])
    supply = Supply(CUTS, TYPE_OF_CUT, np.array([usd[0], usd[0], usd[1]]), available)
    return UndecidedClasses(decided, classes, always), supply, lattice_of({"A": usd[0], "B": usd[1]})


TIMES = np.array(list(product(range(10), repeat=3)))
"""Every number of GPUs that are cut in each way."""


def cheapest_gpus(demand, supply):
    """Returns what whole GPUs with so many partitions cost at least; inf: there are too few."""
    enough = (demand <= TIMES @ CUTS).all(axis=1)
    enough &= TIMES[:, 0] + TIMES[:, 1] <= supply.available[0]
    enough &= TIMES[:, 2] <= supply.available[1]
    return float((TIMES[enough] @ supply.cost).min(initial=inf))


def ways(near, number):
    """Yields partitions of all workloads for each choice of covers of the first classes."""
    classes = near.classes
    members = np.split(classes.member, np.cumsum(classes.members)[:-1])[:number]
    covers = np.split(classes.counts, np.cumsum(classes.covers)[:-1])[:number]
    dealt = [combinations_with_replacement(range(len(own)), len(who)) for who, own in zip(members, covers, strict=True)]
    for chosen in product(*map(list, dealt)):
        partitions = near.decided.copy()
        for who, own, each in zip(members, covers, chosen, strict=True):
            partitions[who] = own[list(each)]
        yield partitions


def asked(near, supply, steps, *, most_classes=3, least=0.0, slices=None, **options):
    return choose_covers(
        near,
        supply,
        least_cost=least,
        steps=steps,
        slices=slices,
        time_limit_s=60.0,
        most_classes=most_classes,
        **options,
    )


@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_covers_are_those_of_which_gpus_cost_least_and_of_these_of_fewest_slices(seed, number):
    """Property: everybody has a cover, of its class or the one decided, and GPUs that there are hold them all."""
    near, supply, steps = drawn(seed)
    costs = [(cheapest_gpus(own.sum(axis=0), supply), float((own @ SLICES).sum())) for own in ways(near, number)]
    least = min(costs)
    for bound, slices in ((0.0, None), (0.0, SLICES), (least[0], SLICES)):
        if bound == inf:
            continue
        found = asked(near, supply, steps, most_classes=number, least=bound, slices=slices)
        if least[0] == inf:
            assert (found.covers, found.limited) == (None, False)
            continue
        covers = found.covers
        assert not found.limited
        assert covers.cost == pytest.approx(least[0])
        assert covers.cost == pytest.approx(float(covers.cuts @ supply.cost))
        assert (covers.cuts @ CUTS >= covers.partitions.sum(axis=0)).all()
        used = np.bincount(TYPE_OF_CUT, weights=covers.cuts, minlength=2)
        assert (used <= supply.available).all()
        assert any(sorted(own.tolist()) == sorted(covers.partitions.tolist()) for own in ways(near, number))
        outside = sorted(set(range(7)) - set(near.classes.first(number).member.tolist()))
        assert covers.partitions[outside].tolist() == near.decided[outside].tolist()
        if slices is not None:
            assert float((covers.partitions @ SLICES).sum()) == pytest.approx(least[1])


def test_any_plan_that_keeps_the_counts_will_do_where_no_cost_is_asked_for():
    plans = 0
    for seed in range(8):
        near, supply, steps = drawn(seed)
        least = min(cheapest_gpus(own.sum(axis=0), supply) for own in ways(near, 3))
        found = asked(near, supply, steps, any_plan=True)
        assert (found.covers is None) == (least == inf)
        if found.covers is not None:
            assert found.covers.cost >= least * (1 - 1e-9)
            assert (np.bincount(TYPE_OF_CUT, weights=found.covers.cuts, minlength=2) <= supply.available).all()
            plans += 1
    assert plans > 2


def test_that_time_ended_the_program_is_said_beside_the_plan_that_it_has(monkeypatch):
    near, supply, steps = drawn(1)
    monkeypatch.setattr(module, "end_of", lambda _: "time_limit")
    found = asked(near, supply, steps)
    assert (found.covers is not None, found.limited) == (True, True)
    nothing = SimpleNamespace(has_primal_feasible_solution=lambda: False)
    monkeypatch.setattr(module, "run_highs", lambda *_, **__: nothing)
    found = asked(near, supply, steps)
    assert (found.covers, found.limited) == (None, True)


@pytest.mark.parametrize("always", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_who_is_cheaper_on_gpus_under_mps_is_served_there(seed, always):
    """Three on a GPU of the second type, with one who always is there; these GPUs are among those that there are."""
    near, supply, steps = drawn(seed, always=always)
    classes = near.classes
    if always == 3:
        near = UndecidedClasses(
            near.decided, Classes(classes.member[:3], np.ones(3, int), classes.counts, classes.covers), 3
        )

    def build(model, is_served):
        assert is_served[0] == 1
        gpus = model.add_integer_variable(lb=0)
        model.add_linear_constraint(3 * gpus >= sum(is_served))
        own = is_served[1:]
        return MpsPart(
            gpus=[("B", gpus)],
            decode=lambda values: MpsAnswer(
                (("column", round(values[gpus])),), {0: [round(values[one]) for one in own]}
            ),
        )

    least = inf
    members = np.split(near.classes.member, np.cumsum(near.classes.members)[:-1])
    for own in ways(near, 3):
        for number in range(always + 1):
            for elsewhere in combinations(range(always), number):
                shared = -(-(1 + number) // 3)
                partitions = own.copy()
                for c in elsewhere:
                    partitions[members[c]] = 0
                if shared > supply.available[1]:
                    continue
                fewer = Supply(CUTS, TYPE_OF_CUT, supply.cost, supply.available - [0, shared])
                cost = cheapest_gpus(partitions.sum(axis=0), fewer) + shared * supply.cost[2]
                least = min(least, cost)
    found = asked(near, supply, steps, most_classes=3 - always, shared=MpsChoice(build, 1, {"A": 0, "B": 1}))
    assert (found.covers is None) == (least == inf)
    if found.covers is not None:
        covers = found.covers
        assert covers.cost == pytest.approx(least)
        ((_, times),) = covers.shared.columns
        there = covers.shared.residents[0]
        assert covers.cost == pytest.approx(float(covers.cuts @ supply.cost) + times * supply.cost[2])
        assert 3 * times >= 1 + sum(there)
        for c, is_there in enumerate(there):
            assert is_there != covers.partitions[members[c]].any()
        assert (covers.cuts @ CUTS >= covers.partitions.sum(axis=0)).all()
        used = np.bincount([*TYPE_OF_CUT, 1], weights=[*covers.cuts, times], minlength=2)
        assert (used <= supply.available).all()
