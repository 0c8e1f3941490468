"""What holds for every planner on fleets that may be shared by MPS."""

import pytest
from hypothesis import example, given, settings
from problems.igniter_instances import FLEET, V100, mps_problems, random_mps_problem, solo_tables, table_3
from problems.instances import problem_of

from sliceplan.solver.api import compare, planners_for, price, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.rule_parts import carries_the_parts
from sliceplan.solver.planners.igniter import placed_by_igniter
from sliceplan.solver.planners.registry import planner_named

MPS_PLANNERS = (
    "exact",
    "best-split",
    "ffd",
    "ffd-interference",
    "ffd-interference-least-batch",
    "gpulets-igniter",
    "gslice",
    "igniter",
    "igniter-least-batch",
)


LESS_THAN_THE_REST = problem_of(
    [
        {"name": "w0", "model": "alexnet", "rate_rps": 5, "slo_ms": 5},
        {"name": "w1", "model": "alexnet", "rate_rps": 1126.487601952491, "slo_ms": 105.06882005651},
        {"name": "w2", "model": "vgg19", "rate_rps": 100, "slo_ms": 65.78803908997777, "batch_sizes": [2]},
        {
            "name": "w3",
            "model": "vgg19",
            "rate_rps": 1358.6541921927997,
            "slo_ms": 36,
            "batch_sizes": [4],
            "max_replicas": 3,
            "memory_mib": 100,
        },
        {"name": "w4", "model": "ssd", "rate_rps": 426, "slo_ms": 17, "batch_sizes": [1]},
    ],
    fleet=FLEET,
    mps_rules="igniter",
)
"""FFD+ ignores that a neighbour slows what is left of w3, and dedicated GPUs that take more than 0.9 make up for it."""


def test_a_plan_that_divides_a_service_otherwise_disputes_nothing_that_is_proven_of_igniters_rules():
    comparison = compare(LESS_THAN_THE_REST, ["exact", "ffd", "ffd-interference"])
    exact, ffd, aware = comparison.plans
    assert (exact.status, ffd.status) == (Status.OPTIMAL, Status.FEASIBLE)
    assert ffd.gpus_used < exact.gpus_used <= aware.gpus_used
    assert comparison.is_sound
    resolved = resolve(LESS_THAN_THE_REST, shipped_profiles())
    assert [carries_the_parts(resolved, plan) for plan in comparison.plans] == [True, False, True]
    assert "every plan that these rules allow" in exact.bound.method
    # Of the same service the rules ask 455, 455 and 448 requests/s, and the third GPU carries less.
    capacities = sorted(s.capacity_rps for g in ffd.gpus for p in g.partitions for s in p.serves if s.workload == "w3")
    assert capacities[0] < 1358.6541921927997 - 2 * 0.9 * capacities[-1] < capacities[0] * 1.1


@settings(max_examples=12, deadline=None)
@given(mps_problems())
@example(LESS_THAN_THE_REST)
def test_every_plan_holds_or_says_what_does_not_and_none_is_below_the_bound(problem):
    """Property: `check` finds in a violating plan what the plan states, and nothing in any other."""
    try:
        comparison = compare(problem)
    except InputError:  # models that have nothing on this fleet
        return
    assert comparison.is_sound, (comparison.failures, comparison.disputes)
    for plan in comparison.plans:
        found = check(problem, plan, shipped_profiles())
        assert [v.message for v in found] == [v.message for v in plan.violations]
        assert bool(plan.violations) == (plan.status is Status.VIOLATING)
        if plan.violations:
            assert plan.planner in ("ffd", "gslice", "gpulets-igniter")
            assert plan.gap is None
        elif plan.cost_per_hour is not None and (
            problem.settings.mps_rules == "free" or carries_the_parts(resolve(problem, shipped_profiles()), plan)
        ):
            assert plan.cost_per_hour >= (comparison.bound.cost_per_hour or 0) - 1e-6
    exact = comparison.plans[0]
    assert exact.planner == "exact"
    if exact.status is Status.INFEASIBLE:
        assert not [plan for plan in comparison.plans if plan.status is Status.FEASIBLE]
        assert exact.unserved


ONE_REPLICA = problem_of(
    [
        {"model": "alexnet", "rate_rps": 1, "slo_ms": 5},
        {"model": "vgg19", "rate_rps": 277, "slo_ms": 17, "max_replicas": 1},  # more than a T4 carries
    ],
    fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps", "exclusive"]}, {"gpu": "T4", "sharing": ["mps"]}],
)
NO_MORE_RATE = problem_of(
    [{"model": "vgg19", "rate_rps": 305, "slo_ms": 7, "max_replicas": 1}],
    fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}],
)


def test_a_service_whose_replicas_could_carry_no_more_has_no_price_of_more_rate():
    plan, report = price(NO_MORE_RATE)
    assert plan.status is Status.OPTIMAL
    assert report.services[0].rate_up_usd_per_hour is None


@settings(max_examples=5, deadline=None)
@given(mps_problems(most=4))
@example(ONE_REPLICA)
@example(NO_MORE_RATE)
def test_the_exact_plan_is_no_dearer_than_any_that_holds(problem):
    try:
        plans = compare(problem).plans
    except InputError:
        return
    held = [plan.cost_per_hour for plan in plans if plan.status in (Status.OPTIMAL, Status.FEASIBLE)]
    if held and plans[0].cost_per_hour is not None and problem.settings.mps_rules == "free":
        assert plans[0].cost_per_hour <= min(held) + 1e-9


@pytest.mark.parametrize("planner", MPS_PLANNERS)
def test_same_problem_gives_the_same_plan_byte_for_byte(planner):
    profiles = [*shipped_profiles(), *solo_tables()]
    # Of all twelve services the proof of `exact` takes seconds.
    problem = table_3() if planner != "exact" else table_3().model_copy(update={"workloads": table_3().workloads[:8]})
    plans = (solve(problem, planner, profiles=profiles, time_limit_s=120) for _ in range(2))
    one, other = (plan.model_copy(update={"runtime_s": 0}) for plan in plans)
    assert dump_plan(one) == dump_plan(other)


def test_only_planners_of_the_allowed_sharing_are_compared():
    assert set(planners_for(table_3())) == set(MPS_PLANNERS)
    whole = problem_of(
        [{"model": "ssd", "rate_rps": 10, "slo_ms": 200}], fleet=[{"gpu": "T4", "sharing": ["exclusive"]}]
    )
    assert set(planners_for(whole)) == {"exact", "exact-pulp", "best-split", "whole-gpu"}


def test_a_planner_asked_for_a_sharing_that_it_does_not_plan_says_so():
    plan = solve(table_3(), "parvagpu")
    assert plan.status is Status.REFUSED
    assert "parvagpu plans MIG, which no GPU type of the fleet allows" in plan.unserved[0].reason


def test_a_workload_too_large_for_a_gpu_gets_dedicated_ones_and_a_rest():
    """The replica rule of the artifact: whole GPUs counted with 0.9 of their throughput, and the rest as usual."""
    problem = problem_of([{"model": "vgg19", "rate_rps": 1500, "slo_ms": 60}], fleet=FLEET, mps_rules="igniter")
    plan = solve(problem, "igniter")
    shares = [part.sm_percent for gpu in plan.gpus for part in gpu.partitions]
    assert len(shares) > 1
    assert shares[:-1] == [100.0] * (len(shares) - 1)
    assert plan.status is Status.FEASIBLE
    exact = solve(problem)
    assert exact.cost_per_hour <= plan.cost_per_hour


def test_batch_sizes_stay_within_the_measured_range():
    problem = problem_of([{"model": "alexnet", "rate_rps": 2500, "slo_ms": 400}], fleet=FLEET)
    plan = solve(problem, "igniter")
    assert plan.gpus[0].partitions[0].serves[0].batch == 32


def test_a_split_workload_keeps_the_numbers_of_the_whole_problem():
    """`best-split` plans parts of the problem; names and rates in its plan are those of the whole."""
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"]}, {"gpu": V100, "sharing": ["mps"]}]
    workloads = [
        {"model": "alexnet", "rate_rps": 300, "slo_ms": 40},
        {"model": "bert", "rate_rps": 60, "slo_ms": 300},
        {"model": "ssd", "rate_rps": 60, "slo_ms": 100},
        {"model": "resnet50", "rate_rps": 200, "slo_ms": 100},
    ]
    plan = solve(problem_of(workloads, fleet=fleet), "best-split")
    assert plan.status is Status.FEASIBLE
    assert {gpu.sharing for gpu in plan.gpus} == {"mig", "mps"}
    served = {s.workload: s for gpu in plan.gpus for part in gpu.partitions for s in part.serves}
    assert set(served) == {"w0", "w1", "w2", "w3"}


def test_a_restricted_problem_is_the_problem_of_those_workloads():
    whole = resolve(table_3(), shipped_profiles())
    part = whole.restricted_to([3, 7, 11])
    again = resolve(part.problem, shipped_profiles())
    mps = part.mps[V100]
    assert [w.name for w in part.problem.workloads] == ["W4", "W8", "W12"]
    one, other = placed_by_igniter(part, mps), placed_by_igniter(again, again.mps[V100])
    assert one == other


def test_exact_is_never_dearer_than_a_valid_heuristic_even_out_of_time():
    """With no time to search, the plan is the best of the heuristics', which its bound is stated for."""
    resolved = resolve(random_mps_problem(300, 0), shipped_profiles())
    names = ("exact", "igniter", "ffd-interference", "igniter-least-batch", "ffd-interference-least-batch")
    exact, *others = [planner_named(name).plan(resolved, time_limit_s=0.1) for name in names]
    assert exact.cost_per_hour <= min(plan.cost_per_hour for plan in others)
    assert exact.bound.cost_per_hour <= exact.cost_per_hour


def test_the_batch_of_the_least_share_takes_7_percent_fewer_gpus():
    """1,000 services that differ: 219 GPUs by both ways to fit, where the batch of eq. 17 takes 235."""
    problem = random_mps_problem(1000, 0)
    plans = {name: solve(problem, name) for name in ("igniter", "igniter-least-batch", "ffd-interference-least-batch")}
    assert {name: plan.gpus_used for name, plan in plans.items()} == {
        "igniter": 235,
        "igniter-least-batch": 219,
        "ffd-interference-least-batch": 219,
    }


def test_where_the_rules_fix_batch_sizes_a_planner_that_chooses_them_refuses():
    plan = solve(table_3(mps_rules="igniter"), "igniter-least-batch")
    assert plan.status is Status.REFUSED
    assert "chooses batch sizes, which settings.mps_rules igniter fixes" in plan.unserved[0].reason


def test_a_plan_that_splits_a_service_with_one_replica_is_not_given():
    """With the batch of eq. 17 a whole GPU is not enough, so iGniter takes two; another batch does with one GPU."""
    service = {"model": "vgg19", "rate_rps": 522, "slo_ms": 25, "max_replicas": 1}
    problem = problem_of([service], fleet=FLEET)
    for planner in ("igniter", "ffd-interference"):
        plan = solve(problem, planner)
        assert (plan.status, plan.gpus) == (Status.NONE_FOUND, ())
        assert f"{planner} gives it 2 partitions and knows no replica limits (1 to 1)" in plan.unserved[0].reason
    assert solve(problem, "igniter-least-batch").gpus_used == 1
    assert (solve(problem).status, solve(problem).gpus_used) == (Status.OPTIMAL, 1)
