"""The parts of the search by sets of residents: which program's bound counts, and what its failure proves."""

import time
from math import inf
from types import SimpleNamespace

import pytest

from sliceplan.solver.exact.fleet import fleet_by_sets as module
from sliceplan.solver.exact.mps.columns import Column
from sliceplan.solver.model.stop_reason import StopReason

FLEET = {name: SimpleNamespace(price_per_hour=price) for name, price in {"A": 2.0, "B": 5.0}.items()}


def resolved_of(rules="free", gap=0.0):
    settings = SimpleNamespace(mps_rules=rules)
    return SimpleNamespace(fleet_by_name=FLEET, gap=gap, problem=SimpleNamespace(settings=settings))


def answer_of(patterns=(), columns=(), stopped=StopReason.PROVED, bound=None):
    return SimpleNamespace(
        patterns=None if patterns is None else [(SimpleNamespace(gpu=gpu), times) for gpu, times in patterns],
        partitions={},
        shared=SimpleNamespace(columns=[(SimpleNamespace(gpu=gpu), times) for gpu, times in columns]),
        stopped=stopped,
        cost_bound=bound,
        solver="s",
    )


def test_a_plan_costs_its_cuts_and_its_sets_of_residents():
    assert module._cost(resolved_of(), answer_of([("A", 3)], [("B", 2), ("A", 1)])) == 3 * 2 + 2 * 5 + 2
    assert module._cost(resolved_of(), answer_of([], [])) == 0
    assert module._cost(resolved_of(), answer_of(None)) is None


@pytest.mark.parametrize(
    ("cost", "than", "cheaper"),
    [(None, 1.0, False), (1.0, None, True), (1.0, 1.0, False), (0.9, 1.0, True), (1.0 - 1e-12, 1.0, False)],
)
def test_only_what_costs_less_than_rounding_explains_is_cheaper(cost, than, cheaper):
    assert module._is_cheaper(cost, than) is cheaper


def column(possible=True):
    return Column("A", (0,), (1,) if possible else None, 1)


@pytest.mark.parametrize(("rules", "method"), [("free", module.SETS), ("igniter", module.SETS_BY_THE_RULES)])
def test_the_bound_is_that_of_all_possible_sets_and_the_plans_own_where_all_are_feasible(monkeypatch, rules, method):
    """Sets that are possible and not known to be feasible make a looser program."""
    looser = answer_of(stopped=StopReason.TIME_LIMIT, bound=3.0)
    monkeypatch.setattr(module, "by_columns", lambda _, __, columns: len(columns))
    asked = []
    monkeypatch.setattr(module, "solve_cutting_stock", lambda *_, shared, **__: asked.append(shared) or looser)
    own = answer_of(stopped=StopReason.INFEASIBLE, bound=4.0)
    args = resolved_of(rules), None
    found = module._bound_over_sets(*args, [column(), column()], own, inf)
    assert (found.cost, found.infeasible, found.limited, found.method, asked) == (4.0, True, False, method, [])
    found = module._bound_over_sets(*args, [column(), column(possible=False)], own, inf)
    assert (found.cost, found.infeasible, found.limited, found.method, asked) == (3.0, False, True, method, [2])


@pytest.mark.parametrize(
    ("fluid", "generated", "cost", "method"),
    [
        (4.0, None, 4.0, module.FLUID),
        (4.0, 4.9, 5.0, module.GENERATED),
        (4.0, 3.5, 4.0, module.FLUID),
        (5.0, 4.5, 5.0, module.FLUID),
        (None, 2.5, 3.0, module.GENERATED),
        (None, None, None, module.FLUID),
    ],
)
def test_of_fluid_and_generated_columns_the_greater_bound_counts(monkeypatch, fluid, generated, cost, method):
    """The latter is rounded up to what whole GPUs cost."""
    ends = [StopReason.TIME_LIMIT, StopReason.INFEASIBLE]
    monkeypatch.setattr(module, "as_fluid", lambda _: None)
    monkeypatch.setattr(module, "solve_cutting_stock", lambda *_, **__: answer_of(stopped=ends.pop(), bound=fluid))
    lattice = SimpleNamespace(next_cost=lambda bound: float(-(-bound // 1)))
    monkeypatch.setattr(module, "cost_lattice", lambda _: lattice)
    found = module._fluid_bound(resolved_of(), generated, inf)
    assert (found.cost, found.method, found.infeasible, found.limited) == (cost, method, True, False)
    found = module._fluid_bound(resolved_of(), generated, inf)
    assert (found.cost, found.infeasible, found.limited) == (cost, False, True)


@pytest.mark.parametrize(
    ("ended", "exhaustive", "limited", "stopped"),
    [
        (StopReason.INFEASIBLE, True, False, StopReason.INFEASIBLE),
        (StopReason.INFEASIBLE, False, False, StopReason.GAP_LEFT),
        (StopReason.TIME_LIMIT, True, True, StopReason.TIME_LIMIT),
    ],
)
def test_that_a_program_has_no_plan_proves_something_only_where_it_has_every_set(ended, exhaustive, limited, stopped):
    bound = module._Bound(6.0, "m", infeasible=False)
    answer = answer_of(None, stopped=ended)
    found = module._answer(resolved_of(), None, answer, None, bound, exhaustive, limited)
    assert (found.stopped, found.cost_bound, found.gpus) == (stopped, 6.0, None)


def test_split_rates_that_have_too_many_sets_are_not_tried(monkeypatch):
    monkeypatch.setattr(module, "item_tables", lambda *_: ["x", "y"])
    asked = []
    monkeypatch.setattr(
        module,
        "enumerate_columns",
        lambda table, most: asked.append((table, most)) or SimpleNamespace(columns=[column()] * 2),
    )
    monkeypatch.setattr(module, "few_columns", lambda columns: columns)
    monkeypatch.setattr(module, "_planned", lambda *_: "planned")
    monkeypatch.setattr(module, "MOST_SPLIT", 4)
    assert module._planned_in_parts(resolved_of(), None, inf) == "planned"
    assert asked == [("x", module.MOST_PARTS), ("y", module.MOST_PARTS)]
    monkeypatch.setattr(module, "MOST_SPLIT", 3)
    assert module._planned_in_parts(resolved_of(), None, inf) is None


@pytest.fixture
def solved(monkeypatch):
    """Returns a function that solves by sets where its programs and bounds are as given."""

    def answer(*, plan, bound, splits=False, complete=True, split=None, known=None, plans=(), gap=0.0):
        seen = []
        monkeypatch.setattr(module, "_columns_of", lambda *_: ([], None))
        monkeypatch.setattr(module, "few_columns", lambda columns: columns)
        monkeypatch.setattr(module, "_planned", lambda *_: plan)
        monkeypatch.setattr(module, "_fluid_bound", lambda *_: seen.append("fluid") or bound)
        monkeypatch.setattr(module, "_bound_over_sets", lambda *_: seen.append("sets") or bound)
        monkeypatch.setattr(module, "mps_items", lambda _, *, parts: SimpleNamespace(items=(), splits=parts or None))
        monkeypatch.setattr(
            module, "_planned_in_parts", lambda _, items, __: seen.append("parts" if items.splits else "whole") or split
        )
        monkeypatch.setattr(module, "cut_gpus", lambda *_: ["cut"])
        monkeypatch.setattr(module, "shared_gpus", lambda *_: ["shared"])
        monkeypatch.setattr(module, "price_of", lambda _, gpus: gpus[0])
        sets = SimpleNamespace(shared=SimpleNamespace(items=(), splits=splits), complete=complete)
        return module.solve_by_sets(resolved_of(gap=gap), sets, None, plans, known, inf), seen

    return answer


def bound_of(cost, **others):
    return module._Bound(cost, "m", **{"infeasible": False, **others})


@pytest.mark.parametrize(
    ("splits", "complete", "asked"),
    [(False, True, ["sets"]), (True, True, ["fluid", "parts"]), (False, False, ["fluid"]), (True, False, ["fluid"])],
)
def test_sets_bound_where_they_are_all_and_rates_stay_whole_and_else_the_fluid(solved, splits, complete, asked):
    found, seen = solved(plan=answer_of([("A", 3)]), bound=bound_of(4.0), splits=splits, complete=complete)
    assert seen == asked
    assert (found.stopped, found.cost_bound, found.gpus) == (StopReason.GAP_LEFT, 4.0, ["cut", "shared"])


def test_a_bound_that_is_reached_is_a_proof_and_split_rates_are_not_tried(solved):
    found, seen = solved(plan=answer_of([("A", 3)]), bound=bound_of(6.0), splits=True)
    assert (found.stopped, seen) == (StopReason.PROVED, ["fluid"])


def test_the_known_bound_is_enough_within_the_gap_that_is_asked_for(solved):
    plan = answer_of([("A", 3)])
    found, seen = solved(plan=plan, bound=bound_of(6.0), known=(5.9, "known"), gap=0.02)
    assert (found.stopped, found.cost_bound, found.method, seen) == (StopReason.GAP_REACHED, 5.9, "known", [])
    found, seen = solved(plan=plan, bound=bound_of(5.0), known=(5.8, "known"), gap=0.02)
    assert (found.cost_bound, found.method, seen) == (5.8, "known", ["sets"])
    _, seen = solved(plan=plan, bound=bound_of(6.0), known=(6.0, "known"))
    assert seen == ["sets"]


def test_no_plan_is_proven_by_the_bound_alone(solved):
    found, _ = solved(plan=answer_of([("A", 3)]), bound=bound_of(None, infeasible=True), plans=[[5.0]])
    assert (found.stopped, found.gpus, found.cost_bound) == (StopReason.INFEASIBLE, None, None)


def test_split_rates_and_known_plans_take_the_place_of_what_is_dearer(solved):
    split = answer_of([("A", 2)])
    found, _ = solved(plan=answer_of([("A", 3)]), bound=bound_of(4.0), splits=True, split=split)
    assert found.stopped == StopReason.PROVED
    found, _ = solved(plan=answer_of([("A", 3)]), bound=bound_of(4.0), plans=[[7.0, "dear"], [5.0, "x"], [5.0, "y"]])
    assert (found.stopped, found.gpus) == (StopReason.GAP_LEFT, [5.0, "x"])
    found, _ = solved(plan=answer_of(None, stopped=StopReason.TIME_LIMIT), bound=bound_of(4.0), plans=[[4.0, "x"]])
    assert (found.stopped, found.gpus) == (StopReason.PROVED, [4.0, "x"])
    # A time limit that ended one of the programs is why a gap is left.
    late = answer_of([("A", 3)], stopped=StopReason.TIME_LIMIT)
    for plan, bound in ((late, bound_of(4.0)), (answer_of([("A", 3)]), bound_of(4.0, limited=True))):
        assert solved(plan=plan, bound=bound)[0].stopped == StopReason.TIME_LIMIT


def test_sets_are_complete_where_those_of_every_type_are():
    for ends, complete in (([True, True], True), ([True, False], False), ([False], False), ([], True)):
        listed = [SimpleNamespace(complete=one) for one in ends]
        assert module.ListedSets(None, (), listed).complete is complete


def test_a_gap_is_within_reach_of_no_bound_that_is_not_known(solved):
    found, seen = solved(plan=answer_of([("A", 3)]), bound=bound_of(5.9), gap=0.02)
    assert (found.stopped, seen) == (StopReason.GAP_REACHED, ["sets"])


@pytest.mark.parametrize(
    ("complete", "splits", "stopped"),
    [(True, False, StopReason.INFEASIBLE), (False, False, StopReason.GAP_LEFT), (True, True, StopReason.GAP_LEFT)],
)
def test_that_no_set_serves_all_proves_something_where_all_are_listed_and_rates_stay_whole(
    solved, complete, splits, stopped
):
    none = answer_of(None, stopped=StopReason.INFEASIBLE)
    found, _ = solved(plan=none, bound=bound_of(4.0), complete=complete, splits=splits)
    assert (found.stopped, found.gpus) == (stopped, None)


def test_columns_are_those_that_are_listed_or_else_generated_from_a_plan(monkeypatch):
    listed = [SimpleNamespace(columns=["a", "b"], complete=True), SimpleNamespace(columns=["c"], complete=True)]
    assert module._columns_of(None, module.ListedSets(None, (), listed), None, inf) == (["a", "b", "c"], None)
    asked = []

    def generated(resolved, shared, tables, known, *, deadline):
        asked.append((resolved, shared, tables, known))
        assert deadline == pytest.approx(time.monotonic() + 0.4 * 100, abs=2)
        return SimpleNamespace(columns="generated", cost_bound=3.0)

    monkeypatch.setattr(module, "generate_columns", generated)
    monkeypatch.setattr(module, "columns_of_gpus", lambda *given: given)
    listed[1].complete = False
    sets = module.ListedSets("shared", "tables", listed)
    found = module._columns_of("resolved", sets, lambda _: "placed", time.monotonic() + 100)
    assert found == ("generated", 3.0)
    assert asked == [("resolved", "shared", "tables", ("resolved", "shared", "placed"))]


@pytest.mark.parametrize(("seconds", "left"), [(50.0, 50.0), (0.0, 0.05), (-9.0, 0.05)])
def test_some_time_is_always_left_for_a_program(seconds, left):
    assert module._left(time.monotonic() + seconds) == pytest.approx(left, abs=1.0)
    assert module._left(time.monotonic() + seconds) >= min(left, 0.05)
