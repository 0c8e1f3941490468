"""Why a search by sets of residents ended, where the rates of services may be split."""

import time
from types import SimpleNamespace

import pytest
from problems.igniter_instances import table_3

from sliceplan.solver.exact.fleet import fleet_by_sets
from sliceplan.solver.exact.fleet.fleet_answer import FleetAnswer
from sliceplan.solver.exact.fleet.fleet_by_sets import ListedSets, list_sets, solve_by_sets
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve


@pytest.mark.parametrize(
    ("parts_ended", "stopped"),
    [
        (StopReason.TIME_LIMIT, StopReason.TIME_LIMIT),
        (StopReason.INFEASIBLE, StopReason.GAP_LEFT),
        (None, StopReason.GAP_LEFT),
    ],
)
def test_a_time_limit_that_ended_the_search_for_split_rates_is_why_a_gap_is_left(monkeypatch, parts_ended, stopped):
    """Of the two programs the first ends by itself, and the fluid's bound leaves a gap."""
    in_parts = None if parts_ended is None else SimpleNamespace(stopped=parts_ended, patterns=None)
    monkeypatch.setattr(fleet_by_sets, "_planned_in_parts", lambda *_: in_parts)
    resolved = resolve(table_3(), shipped_profiles())
    found = solve_by_sets(resolved, list_sets(resolved), lambda _: (), (), None, time.monotonic() + 60)
    assert found.gpus is not None
    assert found.stopped == stopped


@pytest.mark.parametrize(
    ("cost", "known", "greater"),
    [(5.0, 7.0, 7.0), (5.0, 4.0, 5.0), (None, 4.0, 4.0), (5.0, None, 5.0)],
)
def test_of_two_bounds_the_greater_one_counts(cost, known, greater):
    bound = fleet_by_sets._Bound(cost, "own", infeasible=False)
    assert fleet_by_sets._greater(bound, known and (known, "known")).cost == greater


def test_a_bound_that_proves_that_there_is_no_plan_is_greater_than_any():
    bound = fleet_by_sets._Bound(None, "own", infeasible=True)
    assert fleet_by_sets._greater(bound, (7.0, "known")) is bound


@pytest.fixture
def searched(monkeypatch):
    """Returns a function that tells what becomes of programs and known plans of such costs; None: there is no plan."""

    def told(cost, prices=(), *, splits=False, split=()):
        parts = SimpleNamespace(splits=True)
        answers = {"whole": cost, "split": split[0] if split else None}

        def answer(name):
            return SimpleNamespace(name=name, stopped=StopReason.PROVED, solver="solver")

        def answered(_, shared, found, cost, bound, *_also):
            assert shared is (parts if found.name == "split" else sets.shared)
            return FleetAnswer(StopReason.GAP_LEFT, found.name, bound.cost, bound.method, None if cost is None else [])

        own = {
            "few_columns": lambda columns: columns,
            "_planned": lambda *_: answer("whole"),
            "_planned_in_parts": lambda *_: answer("split") if split else None,
            "mps_items": lambda *_, **__: parts,
            "_cost": lambda _, found: answers[found.name],
            "_fluid_bound": lambda *_: fleet_by_sets._Bound(1.0, "fluid", infeasible=False),
            "_bound_over_sets": lambda *_: fleet_by_sets._Bound(1.0, "sets", infeasible=False),
            "_answer": answered,
            "price_of": lambda _, plan: plan[0],
        }
        for name, value in own.items():
            monkeypatch.setattr(fleet_by_sets, name, value)
        sets = ListedSets(SimpleNamespace(splits=splits), [], [SimpleNamespace(complete=True, columns=())])
        found = solve_by_sets(
            SimpleNamespace(gap=0.0), sets, lambda _: (), [[one] for one in prices], None, time.monotonic() + 60
        )
        return found.solver, found.gpus

    return told


@pytest.mark.parametrize(
    ("cost", "prices", "gpus"),
    [
        (5.0, [6.0, 7.0], []),
        (5.0, [5.0], []),
        (5.0, [4.0, 3.0, 3.5], [3.0]),
        (5.0, [4.0, 4.5], [4.0]),
        (None, [8.0, 6.0, 7.0], [6.0]),
        (None, [6.0], [6.0]),
        (None, [], None),
    ],
)
def test_the_cheapest_of_what_the_program_finds_and_of_known_plans_is_the_answer(searched, cost, prices, gpus):
    assert searched(cost, prices) == ("whole", gpus)


@pytest.mark.parametrize(
    ("cost", "split", "taken"),
    [
        (5.0, (4.0,), "split"),
        (5.0, (5.0,), "whole"),
        (5.0, (6.0,), "whole"),
        (5.0, (None,), "whole"),
        (5.0, (), "whole"),
        (None, (4.0,), "split"),
        (None, (None,), "whole"),
        (1.0, (0.5,), "whole"),  # it is proven to cost the least
    ],
)
def test_split_rates_are_taken_where_they_cost_less_than_whole_ones_that_leave_a_gap(searched, cost, split, taken):
    assert searched(cost, splits=True, split=split)[0] == taken
