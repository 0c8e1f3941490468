"""The objective capacity through the front door: against enumeration, measured for every planner, refused by name."""

import random
from fractions import Fraction

import pytest
from oracles import spare_oracle
from oracles.capacity_oracle import most_capacity
from oracles.mig_oracle import TooManyError
from problems.instances import problem_of
from problems.mig_draws import small_problem
from pydantic import ValidationError

from sliceplan.solver import api
from sliceplan.solver.check import check
from sliceplan.solver.comparison.disputes import disputes, without_claim
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.what_if.defragmentation import defragmentation
from sliceplan.solver.what_if.fleet_mix import fleet_mix

SAME = 1e-8
SERVICES = [
    {"model": "bert", "rate_rps": 10, "slo_ms": 500},
    {"model": "resnet50", "rate_rps": 900, "slo_ms": 200},
]
COUNTED = [{"gpu": "A100-80GB", "count": 2, "sharing": ["mig", "exclusive"]}]


def carrying(*, fleet=COUNTED, **settings):
    """Returns a problem whose objective is capacity."""
    return problem_of(SERVICES, fleet=fleet, **({"objective": "capacity"} | settings))


def as_capacity(problem, draw):
    """Returns a drawn problem with one or two GPUs of each type and the objective capacity."""
    fleet = tuple(one.model_copy(update={"count": draw.choice((1, 1, 2)), "nodes": None}) for one in problem.fleet)
    settings = problem.settings.model_copy(update={"objective": "capacity"})
    return problem.model_copy(update={"fleet": fleet, "settings": settings})


def test_the_exact_plan_has_what_enumeration_finds_and_others_have_no_more():
    """Property: of small drawn problems, by fractions of all cuts and all ways to deal them."""
    ends = []
    for seed in range(10):
        drawn, profiles = small_problem(seed)
        problem = as_capacity(drawn, random.Random(f"objective {seed}"))
        try:
            most = most_capacity(problem, profiles, [1] * len(problem.workloads))
        except TooManyError:
            continue
        plan, other = (api.solve(problem, name, profiles=profiles) for name in ("exact", "whole-gpu"))
        ends.append(plan.status)
        assert check(problem, plan, profiles) == check(problem, other, profiles) == []
        if plan.status is Status.INFEASIBLE:
            assert most is None
            continue
        assert plan.status is Status.OPTIMAL
        assert plan.capacity.value == pytest.approx(float(most), rel=SAME)
        assert Fraction(plan.capacity.limit) >= most * (1 - Fraction(SAME))
        assert (plan.bound.cost_per_hour, plan.gap, plan.prices) == (None, None, None)
        if other.gpus:
            assert other.capacity.value <= float(most) * (1 + SAME)
            assert (other.status, other.capacity.limit, other.capacity.gap) == (Status.FEASIBLE, None, None)
    assert ends.count(Status.OPTIMAL) >= 3
    assert Status.INFEASIBLE in ends


def test_a_gap_ends_the_search_and_is_the_plans():
    plan = api.solve(carrying(gap=0.9))
    assert plan.search.stopped in ("gap_reached", "proved")
    assert 0 <= plan.capacity.gap <= 0.9


def test_a_time_limit_leaves_a_plan_or_its_limit():
    plan = api.solve(carrying(), time_limit_s=1e-6)
    assert plan.status in (Status.TIMEOUT, Status.FEASIBLE, Status.OPTIMAL)
    assert plan.capacity is not None
    assert check(carrying(), plan, shipped_profiles()) == []


def test_plans_so_far_have_a_value_and_a_limit():
    found = []
    plan = api.solve(carrying(), on_plan=found.append)
    assert all(one.capacity.value <= plan.capacity.limit * (1 + SAME) for one in found)


def test_the_command_and_the_setting_are_one():
    by_settings, by_door = (
        api.solve(carrying(capacity_weights="solo")),
        api.capacity(problem_of(SERVICES, fleet=COUNTED)),
    )
    assert by_door.problem == carrying()
    assert by_door.plan.capacity.value == by_door.report.capacity
    solo = api.capacity(problem_of(SERVICES, fleet=COUNTED), weights="solo")
    assert solo.plan.gpus == by_settings.gpus
    assert solo.plan.problem == reference(carrying(capacity_weights="solo"))


def test_headroom_is_the_spare_over_each_rate():
    """Property: what InSS calls the capacity factor: capacity is at least (1 + headroom) times the rate."""
    found = api.capacity(problem_of(SERVICES, fleet=COUNTED, headroom=0.1))
    for service, one in zip(SERVICES, found.report.services, strict=True):
        assert one.rate_rps == pytest.approx(1.1 * service["rate_rps"])
        assert one.capacity_rps >= one.rate_rps * (1 - 1e-9)


def test_counts_are_required_of_every_type():
    unlimited = carrying(fleet=[*COUNTED, {"gpu": "A100-40GB"}])
    with pytest.raises(InputError, match=r"fleet\[1\].count is missing: as many A100-40GB as needed carry any load"):
        api.solve(unlimited, "whole-gpu")


def test_weights_without_the_objective_are_refused():
    with pytest.raises(ValidationError, match="expected objective: capacity, or no capacity_weights"):
        carrying(objective="cost", capacity_weights="solo")
    with pytest.raises(ValidationError, match="capacity_weights"):
        carrying(capacity_weights=0)


@pytest.mark.parametrize(
    ("problem", "planner", "reason"),
    [
        (carrying(), "exact-pulp", "exact-pulp does not look for most capacity"),
        (carrying(turns="fixed"), "exact", "exact does not plan turns yet"),
    ],
    ids=["pulp", "turns"],
)
def test_who_does_not_plan_it_says_so(problem, planner, reason):
    plan = api.solve(problem, planner)
    assert plan.status is Status.REFUSED
    assert reason in plan.unserved[0].reason
    assert check(problem, plan, shipped_profiles()) == []


KEPT = ({"spare_gpu_loss": True}, {"spare_services": 1, "spare_rate": 0.4}, {"spare_services": 2, "spare_rate": 0.2})


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize(("latency", "most"), [("execution", None), ("percentile", 4)])
def test_partitions_that_are_kept_free_count_nothing_and_the_rest_is_the_most_there_is(kept, latency, most):
    """Of two and three GPUs, against every place on every GPU and every case of trouble."""
    services = [
        {"model": "bert", "rate_rps": 40, "slo_ms": 500, "max_replicas": most},
        {"model": "resnet50", "rate_rps": 400, "slo_ms": 200},
        {"model": "mobilenetv2", "rate_rps": 100, "slo_ms": 90, "max_replicas": 2},
    ]
    ends = []
    for count in (2, 3):
        fleet = [{"gpu": "A100-80GB", "count": count, "sharing": ["mig"]}]
        problem = problem_of(services, fleet=fleet, objective="capacity", latency=latency, **kept)
        plan, expected = api.solve(problem), spare_oracle.most_requests(problem)
        assert check(problem, plan, shipped_profiles()) == []
        ends.append(plan.status)
        if expected is None:
            assert plan.status is Status.INFEASIBLE
            continue
        assert plan.status is Status.OPTIMAL
        assert plan.capacity.value == pytest.approx(expected, rel=1e-6)
        without = api.solve(problem_of(services, fleet=fleet, objective="capacity", latency=latency))
        assert plan.capacity.value <= without.capacity.value
        # What a lost GPU had is free elsewhere.
        assert plan.capacity.value < without.capacity.value or not kept.get("spare_gpu_loss")
    assert Status.OPTIMAL in ends


def test_what_is_not_kept_free_is_what_a_router_that_knows_states_deals_too():
    """Its plan is that of weighted turns with the same free partitions, and the limit is no lower."""
    own = {"latency": "percentile", "spare_services": 1, "spare_rate": 0.4}
    problem, in_turns = (
        carrying(fleet=[{**COUNTED[0], "count": 3, "sharing": ["mig"]}], dispatch=dispatch, **own)
        for dispatch in ("least_expected", "weighted_round_robin")
    )
    plan, expected = api.solve(problem), spare_oracle.most_requests(in_turns)
    assert check(problem, plan, shipped_profiles()) == []
    assert plan.gpus
    assert plan.capacity.limit >= expected * (1 - 1e-6)


def test_mps_that_no_service_knows_changes_nothing():
    """Both services have measurements on MIG alone, so it is the problem without it, and proven as that is."""
    allowed = problem_of(SERVICES, fleet=[{**COUNTED[0], "sharing": ["mig", "mps", "exclusive"]}], objective="capacity")
    plan, without = api.solve(allowed), api.solve(carrying())
    assert plan.status is Status.OPTIMAL
    assert plan.capacity.value == without.capacity.value
    assert check(allowed, plan, shipped_profiles()) == []


def test_what_knows_least_cost_only_refuses_by_name():
    problem, known = carrying(), shipped_profiles()
    plan = api.solve(problem)
    asked = {
        "replanning weighs dollars": lambda: api.replan(problem, plan),
        "what services cost": lambda: api.price(problem),
        "a mix is what one would buy": lambda: fleet_mix(problem, profiles=known),
        "defragmentation weighs dollars": lambda: defragmentation(problem, plan),
    }
    for words, ask in asked.items():
        with pytest.raises(InputError, match=f"settings.objective is 'capacity', but {words}.*objective: cost"):
            ask()


def test_headroom_and_shedding_do_not_depend_on_the_objective():
    problem = carrying()
    grown, cheapest = api.headroom(problem), api.headroom(problem_of(SERVICES, fleet=COUNTED))
    assert grown.report.factor == pytest.approx(cheapest.report.factor, rel=2e-5)
    assert grown.plan.capacity.value is not None
    assert api.shed(problem).report.shed == ()


def test_a_limit_below_a_plan_that_holds_is_disputed_and_not_used():
    problem = carrying()
    plan = api.solve(problem)
    data = plan.model_dump(mode="json")
    data["planner"] = "stub"
    data["capacity"] |= {"limit": 0.9 * plan.capacity.value, "one_more": {}}
    low = Plan.model_validate(data)
    found = disputes([plan, low])
    assert list(found) == ["stub"]
    assert "states that no plan could carry more than" in found["stub"].message
    assert "the plan of exact could carry" in found["stub"].message
    stands = without_claim(low, found["stub"])
    assert (stands.status, stands.capacity.limit, stands.capacity.one_more) == (Status.FEASIBLE, None, {})


def test_a_plan_transition_and_exports_do_not_ask_for_the_objective():
    cost, most = api.solve(problem_of(SERVICES, fleet=COUNTED)), api.solve(carrying())
    assert api.transition(cost, most).transition.steps
