"""Plans for what partitions carry together: against every set of a small service, simulated, and what is refused."""

import pytest
from oracles.server_sets_oracle import few_points, fewest
from problems.instances import problem_of, random_problem

from sliceplan.solver.api import SimulationSettings, compare, simulate, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status

BY_STATE = {"latency": "percentile", "dispatch": "least_expected"}


@pytest.mark.parametrize("slo_ms", [24, 40, 90])
def test_one_service_s_plan_and_bound_are_those_of_every_set(slo_ms):
    profile = few_points()
    proven = 0
    for rate in (150, 700, 1500, 2300, 2900):
        problem = problem_of([{"model": "resnet50", "rate_rps": rate, "slo_ms": slo_ms}], **BY_STATE, max_processes=1)
        plan = solve(problem, profiles=[profile])
        known = fewest(profile, rate, slo_ms, 1)
        if known is None and plan.gpus_used == 1:
            raise AssertionError(f"{rate}: one GPU does not carry it")
        if known == 1:
            assert plan.bound.gpus is None or plan.bound.gpus <= 1
            assert plan.status is not Status.OPTIMAL or plan.gpus_used == 1
            proven += plan.status is Status.OPTIMAL
    assert proven


def test_plans_of_many_services_hold_and_cost_less_than_with_turns():
    problem = random_problem(20, 17)
    tight = {one.name: max(0.2 * one.slo_ms, 45) for one in problem.workloads}
    workloads = tuple(
        one.model_copy(update={"slo_ms": tight[one.name], "rate_rps": 3 * one.rate_rps}) for one in problem.workloads
    )
    problem = problem.model_copy(update={"workloads": workloads})
    at = {
        dispatch: problem.model_copy(
            update={"settings": problem.settings.model_copy(update={**BY_STATE, "dispatch": dispatch})}
        )
        for dispatch in ("weighted_round_robin", "least_expected", "central")
    }
    plans = {dispatch: solve(one) for dispatch, one in at.items()}
    assert plans["least_expected"].cost_per_hour < plans["weighted_round_robin"].cost_per_hour
    for dispatch in ("least_expected", "central"):
        plan = plans[dispatch]
        assert check(at[dispatch], plan, shipped_profiles()) == []
        assert plan.bound.cost_per_hour <= plan.cost_per_hour
        assert plan.promise.dispatch == dispatch
        report = simulate(at[dispatch], plan, SimulationSettings(requests=1_500))
        assert report.dispatch == dispatch
        assert all(service.holds != "no" for service in report.services)


def test_more_than_a_set_carries_is_found_and_judged_by_the_set():
    problem = problem_of([{"model": "resnet50", "rate_rps": 3000, "slo_ms": 60}], **BY_STATE)
    plan = solve(problem)
    more = problem.model_copy(update={"workloads": (problem.workloads[0].model_copy(update={"rate_rps": 3000 * 1.3}),)})
    carries = sum(one.promised_rps for gpu in plan.gpus for part in gpu.partitions for one in part.serves)
    assert carries >= 3000
    published = compare(more, ["parvagpu", "best-split", "exact-pulp"]).rows
    assert published[0].status in (Status.FEASIBLE, Status.VIOLATING)
    assert published[1].status is Status.FEASIBLE
    assert check(more, published[1], shipped_profiles()) == []
    assert published[2].status is Status.REFUSED
    assert "adds up what a service's partitions carry" in published[2].unserved[0].reason


@pytest.mark.parametrize(
    "asked",
    [
        lambda problem: solve(problem.model_copy(update={"fleet": mps_fleet()})),
        lambda problem: solve(with_settings(problem, objective="capacity", capacity_weights="solo")),
    ],
    ids=["mps by igniter's rules", "objective"],
)
def test_what_sums_are_needed_for_is_refused_with_the_way_out(asked):
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 300, "slo_ms": 90}],
        fleet=[{"gpu": "A100-80GB", "count": 2}],
        mps_rules="igniter",
        **BY_STATE,
    )
    with pytest.raises(InputError, match="weighted_round_robin"):
        asked(problem)


def with_settings(problem, **changes):
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=changes)})


def mps_fleet():
    return problem_of(
        [{"model": "resnet50", "rate_rps": 1, "slo_ms": 90}], fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}]
    ).fleet


def test_too_few_gpus_are_proven_too_few_or_said_to_prove_nothing():
    def on(count, rate):
        workloads = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 60}]
        return solve(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": count}], **BY_STATE))

    assert on(1, 30_000).status is Status.INFEASIBLE
    enough = next(rate for rate in range(3000, 1000, -100) if on(1, rate).gpus)
    ends = [on(1, enough + step) for step in (100, 200, 300)]
    assert {one.status for one in ends} <= {Status.INFEASIBLE, Status.NONE_FOUND}
    assert all(one.unserved for one in ends)
