"""Free partitions as constraints: they ask for what the worst case takes, and no more, against trying every case."""

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.math_opt.python import mathopt

from sliceplan.solver.exact.backends.highs import run_highs
from sliceplan.solver.exact.mig.spare_capacity import SpareVariables, add_room_for_a_lost_gpu
from sliceplan.solver.exact.mig.spare_rules import KeptFree, SpareRules

SIZES = 2
CUTS = [(4, 0), (2, 1), (0, 2)]


def least(model, cost):
    """Returns the least of a sum of variables, and a solution; None: there is none."""
    model.minimize(mathopt.LinearSum(cost))
    result = run_highs(model, 10.0, absolute_gap=0.0)
    return (round(result.objective_value()), result) if result.has_primal_feasible_solution() else None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_as_many_of_each_size_are_free_as_any_gpu_has(times):
    """What runs on the lost one is started elsewhere: F_k - f_k >= u_k, whatever is in use of the cut."""
    model = mathopt.Model()
    x = [model.add_integer_variable(lb=number, ub=number) for number in times]
    free = {k: model.add_integer_variable(lb=0) for k in range(SIZES)}
    levels = add_room_for_a_lost_gpu(model, list(zip(CUTS, x, strict=True)), free, sum(times))
    most = [max((cut[k] for cut, number in zip(CUTS, times, strict=True) if number), default=0) for k in range(SIZES)]
    value, result = least(model, free.values())
    assert value == sum(most)
    assert [round(result.variable_values()[free[k]]) for k in range(SIZES)] == most
    # Each level names who has so many of a size or more.
    assert [[CUTS[x.index(one)] for one in of] for _, of in levels] == [
        [cut for cut in CUTS if cut[k] >= a] for k, highest in ((0, 4), (1, 2)) for a in range(1, highest + 1)
    ]


def test_without_cuts_there_is_no_gpu_to_lose():
    assert add_room_for_a_lost_gpu(mathopt.Model(), [], {}, 3.0) == []


CAPACITY = np.array([[3.0, 8.0], [2.0, 5.0], [0.0, 4.0]])
REQUIRED = np.array([10.0, 4.0, 4.0])
USED = {(0, 0): 1, (0, 1): 1, (1, 0): 2, (1, 1): 0, (2, 1): 1}


def variables(rules, *, most=(None, None, None), served=(1, 1, 1), available=None):
    """Returns the program of free partitions beside used ones, and its variables."""
    model = mathopt.Model()
    workloads = [SimpleNamespace(max_replicas=number) for number in most]
    resolved = SimpleNamespace(
        capacity_rps=CAPACITY,
        required_rps=REQUIRED,
        sizes=range(SIZES),
        problem=SimpleNamespace(workloads=workloads),
        fleet=[SimpleNamespace(available=available)],
    )
    used = {at: model.add_integer_variable(lb=number, ub=number) for at, number in USED.items()}
    cuts = [(cut, model.add_integer_variable(lb=1, ub=1)) for cut in CUTS[:2]]
    return model, SpareVariables(model, resolved, rules, used, cuts, served)


def enough(rate, most, served):
    """Yields every choice of few further partitions that carries so much more of each rate."""
    at = list(USED)
    for numbers in product(range(3), repeat=len(at)):
        extra = np.zeros(CAPACITY.shape, dtype=np.int64)
        for (w, k), number in zip(at, numbers, strict=True):
            extra[w, k] = number
        used = np.zeros(CAPACITY.shape)
        for (w, k), number in USED.items():
            used[w, k] = number
        carried = ((used + extra) * CAPACITY).sum(axis=1)
        replicas = (used + extra).sum(axis=1)
        within = all(limit is None or own <= limit for limit, own in zip(most, replicas, strict=True))
        if within and (carried >= (1 + rate) * REQUIRED * served - 1e-9).all():
            yield extra


@pytest.mark.parametrize("services", [1, 2, 3, 9])
@pytest.mark.parametrize(
    ("rate", "most", "served"),
    [(0.5, (None,) * 3, (1, 1, 1)), (1.0, (4, None, None), (1, 1, 1)), (1.0, (None, 3, 2), (1, 1, 0))],
)
def test_free_partitions_hold_what_any_so_many_services_ask_for_at_once(services, rate, most, served):
    """By trying all further partitions and all sets of services; a service that is left out asks for nothing."""
    model, spare = variables(SpareRules(services, rate, False), most=most, served=served)
    value, result = least(model, spare.free.values())
    together = [list(rows) for rows in combinations(range(3), min(services, 3))]
    expected = min(
        sum(max(extra[rows, k].sum() for rows in together) for k in range(SIZES))
        for extra in enough(rate, most, served)
    )
    assert value == expected
    kept = spare.decode(result.variable_values())
    assert all(kept.free[k] >= kept.extra[rows, k].sum() for rows in together for k in range(SIZES))
    assert [round(result.variable_values()[spare.free[k]]) for k in range(SIZES)] == kept.free.tolist()
    assert len(spare.rates) == 3


def test_where_no_more_replicas_are_allowed_no_partitions_are_enough():
    model, spare = variables(SpareRules(1, 1.0, False), most=(2, None, None))
    assert least(model, spare.free.values()) is None


@pytest.mark.parametrize("services", [1, 2, 9])
@pytest.mark.parametrize("seed", range(4))
def test_known_free_partitions_are_a_solution(services, seed):
    """Every constraint holds at the values of all variables, with just as many free as the worst case takes."""
    draw = np.random.default_rng(seed)
    model, spare = variables(SpareRules(services, 0.5, True))
    every = list(enough(0.5, (None,) * 3, (1, 1, 1)))
    extra = every[int(draw.integers(len(every)))]
    worst = np.sort(extra, axis=0)[::-1][: min(services, 3)].sum(axis=0)
    kept = KeptFree(extra, np.maximum(worst, np.max(CUTS[:2], axis=0)))
    fixed = {one: one.lower_bound for one in model.variables() if one.lower_bound == one.upper_bound}
    values = fixed | dict(spare.values(kept, fixed))
    assert set(values) == set(model.variables())
    for row in model.linear_constraints():
        total = sum(term.coefficient * values[term.variable] for term in row.terms())
        assert row.lower_bound - 1e-9 <= total <= row.upper_bound + 1e-9, row.name
    assert (spare.decode(values).extra == extra).all()


@pytest.mark.parametrize("available", [None, 2])
def test_a_lost_gpu_leaves_room_for_all_that_gpus_there_are(available):
    """M is not too small for them, and no larger than the fleet."""
    model, spare = variables(SpareRules(0, 0.0, True), available=available)
    value, _ = least(model, spare.free.values())
    assert value == 4 + 1
    assert spare.rates == []
    level = next(row for row in model.linear_constraints() if row.name == "level_0_1")
    most = max(-term.coefficient for term in level.terms())
    assert most == (available if available else sum(USED.values()) + 4 + 1)


def test_more_rate_may_take_more_gpus_than_are_in_use():
    """M has room for as many further partitions as services may take, where these are more than a GPU's."""
    model, spare = variables(SpareRules(3, 1.0, True))
    most_extra = [0.0, 0.0]
    for (_, k), variable in spare._extra.items():
        most_extra[k] += variable.upper_bound
    assert most_extra[0] > 4
    level = next(row for row in model.linear_constraints() if row.name == "level_0_1")
    most = max(-term.coefficient for term in level.terms())
    assert most == sum(USED.values()) + most_extra[0] + max(most_extra[1], 1)
