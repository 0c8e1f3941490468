"""Which search of a fleet with GPUs under MPS follows which, by steps that are told what they find."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import problem_of

from sliceplan.solver.allocation.allocated import MpsGpu
from sliceplan.solver.exact.fleet import mixed_fleet as module
from sliceplan.solver.exact.fleet.fleet_answer import FleetAnswer
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

COST = 2 * 3.06
PLAN = [MpsGpu(V100, ()), MpsGpu(V100, ())]


@pytest.fixture
def steps(monkeypatch):
    """Returns a function that solves two services, and lists the searches and what they end with."""

    def solved(bound, dealt, *, complete=True, sharing=("mps",), gap=0.0, whole="time_limit", by_prices="gap_left"):
        services = [{**one.model_dump(mode="json"), "max_replicas": None} for one in random_mps_problem(2, 0).workloads]
        problem = problem_of(services, fleet=[{"gpu": V100, "sharing": list(sharing)}])
        resolved = replace(resolve(problem, shipped_profiles()), gap=gap)
        prices = replace(fleet_prices(resolved, deadline=time.monotonic() + 9), bound=bound)
        heard = []

        def told(name, stopped):
            def step(*_):
                heard.append(name)
                return FleetAnswer(stopped, name, bound, "", PLAN)

            return step

        sets = SimpleNamespace(complete=complete, shared=None)
        for name, step in {
            "fleet_prices": lambda *_, **__: prices,
            "_first": lambda *_: iter([PLAN]),
            "list_sets": lambda _: sets,
            "customers_of": lambda *_: None,
            "with_dealt_bound": lambda *_, **__: heard.append("dealt") or replace(prices, bound=max(dealt, bound)),
            "_of_whole_services": told("whole", whole),
            "_by_prices": told("by prices", by_prices),
            "solve_by_sets": told("by sets", "proved"),
        }.items():
            monkeypatch.setattr(module, name, step)
        return heard, solve_mixed_fleet(resolved, time_limit_s=60)

    return solved


@pytest.mark.parametrize(
    ("bound", "dealt", "gap", "after", "stopped"),
    [
        # The first bound is near enough.
        (0.9 * COST, COST, 0.2, [], "gap_reached"),
        # What is dealt proves the plan, or enough of it.
        (0.5 * COST, COST, 0.0, ["dealt"], "proved"),
        (0.5 * COST, 0.9 * COST, 0.2, ["dealt"], "gap_reached"),
        # Or nothing, or too little: a cheaper plan may be there.
        (0.5 * COST, 0.9 * COST, 0.0, ["dealt", "by sets"], "proved"),
        (0.5 * COST, 0.0, 0.2, ["dealt", "by sets"], "proved"),
        # Or that there is none.
        (0.5 * COST, float("inf"), 0.0, ["dealt"], "infeasible"),
    ],
)
def test_the_search_goes_on_until_a_bound_is_near_the_plan(steps, bound, dealt, gap, after, stopped):
    heard, answer = steps(bound, dealt, gap=gap)
    assert (heard, answer.stopped) == (after, stopped)


@pytest.mark.parametrize(
    ("sharing", "told", "after"),
    [
        (("mps",), {}, ["whole", "by sets"]),
        (("mps",), {"whole": "proved"}, ["whole"]),
        (("mps",), {"whole": "gap_reached"}, ["whole"]),
        (("mps", "exclusive"), {}, ["whole", "by prices", "by sets"]),
        (("mps", "exclusive"), {"by_prices": "proved"}, ["whole", "by prices"]),
        (("mps", "exclusive"), {"by_prices": "gap_reached"}, ["whole", "by prices"]),
        (("mps", "exclusive"), {"complete": True}, ["by sets"]),
    ],
)
def test_where_sets_are_too_many_to_list_whole_services_come_first_and_prices_before_programs(
    steps, sharing, told, after
):
    heard, _ = steps(0.5 * COST, 0.6 * COST, sharing=sharing, **{"complete": False, **told})
    assert heard == ["dealt", *after]


def test_of_many_workloads_prices_have_the_last_word(steps, monkeypatch):
    monkeypatch.setattr(module, "MOST_WORKLOADS", 1)
    heard, answer = steps(0.5 * COST, 0.6 * COST, sharing=("mps", "exclusive"), complete=False)
    assert heard[-1] == answer.solver == "by prices"


@pytest.mark.parametrize(("few", "after"), [(1, ["by prices", "by sets"]), (2, ["by sets"])])
def test_all_sets_of_few_workloads_need_no_prices(steps, monkeypatch, few, after):
    monkeypatch.setattr(module, "FEW_WORKLOADS", few)
    heard, _ = steps(0.5 * COST, 0.6 * COST, sharing=("mps", "exclusive"))
    assert heard == ["dealt", *after]
