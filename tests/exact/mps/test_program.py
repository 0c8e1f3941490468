"""GPUs under MPS in a program: sets of residents and a fluid, against every choice of sets and every number of GPUs."""

from collections import Counter
from itertools import product
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from ortools.math_opt.python import mathopt
from scipy.optimize import linprog

from sliceplan.solver.exact.backends.highs import run_highs
from sliceplan.solver.exact.mps import program as module
from sliceplan.solver.exact.mps.columns import Column
from sliceplan.solver.exact.mps.items import MpsItems, WorkloadClass
from sliceplan.solver.exact.mps.program import SLICES_OF_A_GPU, as_fluid, by_columns

USD = {"x": 3.0, "y": 5.0}
CAPACITY = {"x": 10, "y": 40}


def item(part=1.0):
    return SimpleNamespace(part=part)


def resolved_of(capacity):
    mps = {gpu: SimpleNamespace(capacity_units=units) for gpu, units in CAPACITY.items()}
    return SimpleNamespace(mps=mps, capacity_rps=np.array(capacity, dtype=float))


def least(model, terms):
    """Returns the least of a sum, and the values of a solution; None: there is none."""
    model.minimize(mathopt.LinearSum(terms))
    result = run_highs(model, 10.0, absolute_gap=0.0)
    return (result.objective_value(), result.variable_values()) if result.has_primal_feasible_solution() else None


def cost_terms(part):
    return [USD[gpu] * count for gpu, count in part.gpus]


def drawn_columns(draw, items):
    """Returns a set of each item alone, and some with several; none is dear enough to leave out."""
    sets = [(i,) for i in range(items)] + [
        tuple(sorted(draw.choices(range(items), k=draw.randint(2, 3)))) for _ in range(3)
    ]
    return [Column(draw.choice("xy"), own, (1,) * len(own), draw.randint(1, 10)) for own in sets]


def cheapest(columns, needed):
    """Returns the least cost of sets that hold all that is needed, by a search over all their numbers."""
    best = {frozenset(): 0.0}
    needed = +Counter(needed)
    costs = {}

    def cost(left):
        key = frozenset(left.items())
        if key in best:
            return best[key]
        if key not in costs:
            costs[key] = min(
                (USD[one.gpu] + cost(left - Counter(one.items)) for one in columns if left & Counter(one.items)),
                default=np.inf,
            )
        return costs[key]

    return cost(needed)


@pytest.mark.parametrize("seed", range(8))
def test_each_workload_takes_a_recipe_and_sets_hold_all_of_these(seed):
    """Property: at the least cost of all choices of recipes; what is decoded is such a choice."""
    draw = Random(seed)
    items = 4
    sizes = [draw.randint(1, 3) for _ in range(2)]
    members = [tuple(range(sizes[0])), tuple(range(sizes[0], sum(sizes)))]
    recipes = [tuple(tuple(draw.choices(range(items), k=draw.randint(1, 2))) for _ in range(2)) for _ in members]
    classes = [WorkloadClass(own, of) for own, of in zip(members, recipes, strict=True)]
    columns = drawn_columns(draw, items)
    model = mathopt.Model()
    served = [1 if draw.random() < 0.8 else 0 for _ in range(sum(sizes))]
    part = by_columns(
        resolved_of(np.zeros((sum(sizes), 1))), MpsItems((item(),) * items, tuple(classes), False), columns
    )(model, served)
    value, values = least(model, cost_terms(part))
    of_member = [of if served[w] else ((),) for own, of in zip(members, recipes, strict=True) for w in own]
    expected = min(cheapest(columns, [one for recipe in choice for one in recipe]) for choice in product(*of_member))
    assert value == pytest.approx(expected)
    assert part.settled == set(range(sum(sizes)))
    assert not part.carried
    assert not part.replicas
    answer = part.decode(values)
    assert sum(USD[column.gpu] * times for column, times in answer.columns) == pytest.approx(expected)
    assert all(times > 0 for _, times in answer.columns)
    held = Counter(dict.fromkeys(range(items), 0))
    for column, times in answer.columns:
        held.update({i: times * number for i, number in Counter(column.items).items()})
    taken = {w: [] for w in range(sum(sizes))}
    for i, workloads in answer.residents.items():
        assert len(workloads) <= held[i]
        for w in workloads:
            taken[w].append(i)
    for own, of in zip(members, recipes, strict=True):
        chosen = [tuple(sorted(taken[w])) for w in own if taken[w]]
        assert all(one in [tuple(sorted(recipe)) for recipe in of] for one in chosen)
        assert len(chosen) >= sum(served[w] for w in own)
    slices = sum(SLICES_OF_A_GPU * column.units / CAPACITY[column.gpu] * times for column, times in answer.columns)
    assert sum(mathopt.evaluate_expression(one, values) for one in part.slices) == pytest.approx(slices)


def test_beside_partitions_a_workload_takes_what_it_likes_of_its_recipes_as_often_as_one_of_them_has_it():
    """Thirds, as often as three times, and halves, twice; another class can use no partition."""
    items = tuple(map(item, (1 / 3, 1 / 2, 1.0)))
    classes = (
        WorkloadClass((0, 2), ((0, 0, 0), (0, 1), (1, 1))),
        WorkloadClass((1,), ((2,),)),
    )
    columns = [Column("x", (0, 1), (1, 1), 5), Column("y", (0, 2), (1, 1), 40), Column("x", (1,), (1,), 1)]
    model = mathopt.Model()
    part = by_columns(resolved_of([[2.0, 0.0], [0.0, 0.0], [2.0, 0.0]]), MpsItems(items, classes, True), columns)(
        model, [1, 1, 1]
    )
    assert part.settled == {1}
    assert set(part.carried) == set(part.replicas) == {0, 2}
    for w in (0, 2):
        # As a program would: the rate is carried, and no less than so many residents.
        model.add_linear_constraint(mathopt.LinearSum(part.carried[w]) >= 1 - 1e-9)
        assert [one.upper_bound for one in part.replicas[w]] == [3, 2]
        model.add_linear_constraint(mathopt.LinearSum(part.replicas[w]) >= 3)
    value, values = least(model, cost_terms(part))
    answer = part.decode(values)
    held = Counter()
    for column, times in answer.columns:
        held.update({i: times * number for i, number in Counter(column.items).items()})
    # Six places beside the one of the other class, whose GPU holds a third, too: five more, two on each GPU.
    assert value == pytest.approx(5 + 3 * 3)
    assert all(len(workloads) <= held[i] for i, workloads in answer.residents.items())
    for w in (0, 2):
        own = [i for i, workloads in answer.residents.items() for one in workloads if one == w]
        assert sum((1 / 3, 1 / 2, 1.0)[i] for i in own) >= 1 - 1e-6
        assert len(own) >= 3
    assert answer.residents[2] == [1]


def test_who_can_use_partitions_need_not_be_on_a_gpu_under_mps():
    classes = (WorkloadClass((0, 1), ((0, 0), (1,))),)
    model = mathopt.Model()
    columns = [Column("x", (0, 1), (1, 1), 5)]
    part = by_columns(resolved_of([[0.0, 2.0]] * 2), MpsItems((item(0.5), item()), classes, False), columns)(
        model, [1] * 2
    )
    value, values = least(model, cost_terms(part))
    answer = part.decode(values)
    assert (value, answer.columns) == (0, ())
    assert not any(answer.residents.values())


def test_what_no_set_holds_cannot_be_served():
    classes = (WorkloadClass((0,), ((0,),)),)
    for columns in ([], [Column("x", (1,), (1,), 1)]):
        model = mathopt.Model()
        part = by_columns(resolved_of([[0.0]]), MpsItems((item(), item()), classes, False), columns)(model, [1])
        assert least(model, cost_terms(part)) is None
    model = mathopt.Model()
    none = MpsItems((), (WorkloadClass((0,), ()),), False)
    part = by_columns(resolved_of([[0.0]]), none, [])(model, [1])
    assert least(model, cost_terms(part)) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_fluid_is_carried_by_the_cheapest_whole_gpus_that_are_enough(monkeypatch, seed):
    """Property: by a linear program for each number of GPUs of either type; classes share their parts."""
    draw = np.random.default_rng(seed)
    classes, served = [(0, 2), (1,), (3,)], [1, 1, 1, int(seed % 2)]
    gpus = draw.uniform(0.1, 1.2, (3, 2))
    gpus[draw.random((3, 2)) < 0.25] = np.inf
    gpus[~np.isfinite(gpus).any(axis=1), 0] = 0.5
    # What is beside partitions is asked for by the program; the part of a rate is carried by both.
    on_mig = draw.random(3) < 0.5
    capacity = np.zeros((4, 2))
    for own, there in zip(classes, on_mig, strict=True):
        capacity[list(own), 1] = there
    resolved = resolved_of(capacity)
    resolved.restricted_to = lambda rows: (rows == [0, 1, 3] or pytest.fail(f"{rows}")) and resolved
    monkeypatch.setattr(module, "classes_of", lambda _: classes)
    monkeypatch.setattr(module, "fluid_shares", lambda _: SimpleNamespace(gpus="fluid"))
    monkeypatch.setattr(module, "whole_units", lambda _, found: gpus if found == "fluid" else pytest.fail(found))
    model = mathopt.Model()
    part = as_fluid(resolved)(model, served)
    assert part.replicas is None
    assert part.settled == {w for own, there in zip(classes, on_mig, strict=True) if not there for w in own}
    assert set(part.carried) == {w for own, there in zip(classes, on_mig, strict=True) if there for w in own}
    for w, carried in part.carried.items():
        model.add_linear_constraint(mathopt.LinearSum(carried) >= served[w])
    value, _ = least(model, cost_terms(part))
    of_class = {w: c for c, own in enumerate(classes) for w in own}
    rows = [gpus[of_class[w]] for w in range(4)]
    costs = []
    for counts in product(range(6), repeat=2):
        at = [(w, g) for w in range(4) for g in range(2) if np.isfinite(rows[w][g])]
        room = [[rows[w][g] * (g == own) for w, g in at] for own in range(2)]
        carries = [[-1.0 * (w == own) for w, _ in at] for own in range(4)]
        found = linprog(
            np.zeros(len(at)), A_ub=room + carries, b_ub=[*counts, *(-one for one in served)], bounds=(0, None)
        )
        if found.status == 0:
            costs.append(counts[0] * USD["x"] + counts[1] * USD["y"])
    assert value == pytest.approx(min(costs))
