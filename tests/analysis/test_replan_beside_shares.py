"""Replanning where GPUs are shared by MPS: what it equals at the ends of the trade, and that nothing else moves."""

import random
from collections import Counter

import pytest
from problems.igniter_instances import FLEET, V100, random_mps_problem, table_3
from problems.instances import problem_of
from stand_ins.stuck_solver import no_time

from sliceplan.solver.api import replan, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError, NoPlanError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.transition.planning import plan_transition

PROFILES = shipped_profiles()
DEAR = 1e5
"""USD per hour of a move for which nobody is moved who need not be."""


def held(plan):
    """Returns what runs where, and how: of each service, as often as it is there."""
    return {
        w: Counter(
            (gpu.id, part.mig_profile, part.start, part.sm_percent, one.batch, one.processes)
            for gpu in plan.gpus
            for part in gpu.partitions
            for one in part.serves
            if one.workload == w
        )
        for w in {one.workload for gpu in plan.gpus for part in gpu.partitions for one in part.serves}
    }


def moved(running, plan):
    """Returns the services of both plans of which a running partition does not stay as it is."""
    before, after = held(running), held(plan)
    return {w for w in before if w in after and before[w] - after[w]}


def changed(problem, seed, low=0.6, high=1.4):
    """Returns the problem with other rates."""
    draw = random.Random(seed)
    data = problem.model_dump(mode="json")
    for workload in data["workloads"]:
        workload["rate_rps"] = round(workload["rate_rps"] * draw.uniform(low, high), 2)
    return Problem.model_validate(data)


def free(problem, **settings):
    """Returns the problem with any number of replicas of each service, and other settings."""
    workloads = tuple(one.model_copy(update={"max_replicas": None}) for one in problem.workloads)
    own = problem.settings.model_copy(update=settings)
    return problem.model_copy(update={"workloads": workloads, "settings": own})


def mixed(count, seed):
    """Returns services for A100s that are cut and V100s that are shared."""
    draw = random.Random(seed)
    services = [
        {
            "model": draw.choice(("resnet50", "vgg19")),
            "rate_rps": draw.randint(50, 400),
            "slo_ms": draw.randint(60, 200),
        }
        for _ in range(count)
    ]
    fleet = ({"gpu": "A100-80GB", "sharing": ["mig"]}, {"gpu": V100, "sharing": ["mps", "exclusive"]})
    return problem_of(services, fleet=fleet)


CASES = {
    "whole": lambda seed: random_mps_problem(7, seed),
    "split": lambda seed: free(random_mps_problem(5, seed)),
    "percentile": lambda seed: free(random_mps_problem(4, seed), latency="percentile", quantile=0.95),
    "igniter": lambda seed: free(random_mps_problem(6, seed), mps_rules="igniter"),
    "mixed": lambda seed: mixed(6, seed),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_between_the_ends_of_the_trade_a_plan_is_no_worse_than_either(case, seed):
    """Property: by the check and by counting; no plan made anew, with its own moves, has a lower total."""
    before = CASES[case](seed)
    after = changed(before, seed)
    running, anew = solve(before, time_limit_s=5), solve(after, time_limit_s=5)
    moves = plan_transition(running, anew).transition.disturbed.services
    for price in (0.0, 0.5, DEAR):
        plan, report = replan(after, running, move_price=price, time_limit_s=5)
        assert not check(after, plan, PROFILES)
        assert set(report.moved) == moved(running, plan)
        assert set(report.must_move) <= set(report.moved)
        assert report.total_per_hour == pytest.approx(plan.cost_per_hour + price * len(report.moved))
        assert report.least_total_per_hour <= report.total_per_hour * (1 + 1e-9)
        assert report.least_total_per_hour <= anew.cost_per_hour + price * len(moves) + 1e-9
        if price == 0.0 and anew.status == "optimal":
            assert plan.cost_per_hour == pytest.approx(anew.cost_per_hour)
        if price in (0.0, 0.5):
            assert report.total_per_hour <= (anew.cost_per_hour + price * len(moves)) * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES)
def test_rates_that_fall_move_nobody_at_a_price(case):
    """But by iGniter's rules, whose batch sizes are those of the rates."""
    before = CASES[case](3)
    running = solve(before, time_limit_s=5)
    plan, report = replan(changed(before, 1, 0.9, 1.0), running, move_price=DEAR, time_limit_s=4)
    if case == "igniter":
        assert set(report.moved) == moved(running, plan) <= {one.name for one in before.workloads}
    elif case != "percentile":  # there what a time allows falls with the rate that comes for it
        assert (report.moved, report.must_move) == ((), ())
        assert all(not held(running)[w] - held(plan)[w] for w in held(running))


def test_a_new_service_joins_where_there_is_room_and_nobody_moves():
    services = [{"model": "alexnet", "rate_rps": 100 + 20 * i, "slo_ms": 60, "max_replicas": 1} for i in range(4)]
    running = solve(problem_of(services, fleet=FLEET))
    assert running.gpus_used == 1
    after = problem_of([*services, {"model": "resnet50", "rate_rps": 40, "slo_ms": 80, "max_replicas": 1}], fleet=FLEET)
    plan, report = replan(after, running, most_moves=0)
    assert (plan.gpus_used, report.moved, report.proven) == (1, (), True)
    assert all(held(running)[w] == held(plan)[w] for w in held(running))


def test_more_of_a_rate_comes_as_another_replica_and_not_as_a_move():
    services = [{"model": "vgg19", "rate_rps": 300, "slo_ms": 60}, {"model": "alexnet", "rate_rps": 200, "slo_ms": 60}]
    running = solve(problem_of(services, fleet=FLEET))
    more = [{**services[0], "rate_rps": 420}, services[1]]
    plan, report = replan(problem_of(more, fleet=FLEET), running, move_price=DEAR)
    assert report.moved == ()
    assert all(not held(running)[w] - held(plan)[w] for w in held(running))
    assert sum(held(plan)["w0"].values()) > sum(held(running)["w0"].values())
    one = problem_of([{**service, "max_replicas": 1} for service in more], fleet=FLEET)
    _, alone = replan(one, running, move_price=DEAR)
    assert "w0" in alone.moved


def test_gpus_that_moves_are_worth_are_cleared():
    """Ten small services that run on a GPU each, by hand, take one: each move is worth up to 9 / 10 of its price."""
    services = [{"model": "alexnet", "rate_rps": 30, "slo_ms": 80, "max_replicas": 1} for _ in range(5)]
    problem = problem_of(services, fleet=FLEET)
    alone = [solve(problem_of([one], fleet=FLEET)).gpus[0] for one in services]
    gpus = tuple(
        gpu.model_copy(
            update={
                "id": f"{V100}/{i}",
                "partitions": tuple(
                    part.model_copy(
                        update={"serves": tuple(one.model_copy(update={"workload": f"w{i}"}) for one in part.serves)}
                    )
                    for part in gpu.partitions
                ),
            }
        )
        for i, gpu in enumerate(alone)
    )
    running = solve(problem).model_copy(update={"gpus": gpus, "gpus_used": 5, "cost_per_hour": 5 * 3.06})
    for price, gpus_used in ((3.0, 1), (3.1, 5)):
        plan, report = replan(problem, running, move_price=price, time_limit_s=6)
        assert plan.gpus_used == gpus_used, price
        assert len(report.moved) == 5 - gpus_used
    plan, report = replan(problem, running, most_moves=2, time_limit_s=6)
    assert (plan.gpus_used, len(report.moved)) == (3, 2)


@pytest.mark.parametrize(
    ("change", "must"),
    [
        ({"batch_sizes": [32]}, True),
        ({"slo_ms": 8}, True),
        ({"gpus": ["T4"]}, True),
        ({"rate_rps": 900}, True),
        ({"rate_rps": 900, "max_replicas": None}, False),
        ({"rate_rps": 10}, False),
        ({"slo_ms": 90}, False),
    ],
)
def test_who_must_move_is_who_cannot_stay_though_it_were_alone(change, must):
    first = {"model": "resnet50", "rate_rps": 200, "slo_ms": 60, "max_replicas": 1}
    fleet = (*FLEET, {"gpu": "T4", "sharing": ["mps"]})
    other = {"model": "alexnet", "rate_rps": 200, "slo_ms": 60, "max_replicas": 1, "gpus": [V100]}
    running = solve(problem_of([{**first, "gpus": [V100]}, other], fleet=fleet))
    after = problem_of([{**first, **change}, other], fleet=fleet)
    plan, report = replan(after, running, move_price=DEAR)
    assert (report.must_move == ("w0",)) is must
    assert ("w0" in report.moved) is must
    if must:
        with pytest.raises(NoPlanError, match="w0: must be moved, and at most 0 services may be: "):
            replan(after, running, most_moves=0)
    else:
        assert plan.gpus


def test_gpus_that_there_are_not_any_more_are_cleared():
    problem = random_mps_problem(10, 0)
    running = solve(problem, "igniter")
    assert running.gpus_used == 4
    few = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 3}),)})
    plan, report = replan(few, running, most_moves=10, time_limit_s=6)
    assert plan.gpus_used == 3
    assert set(report.moved) == moved(running, plan)


@pytest.mark.parametrize("name", ["igniter", "mixed"])
def test_without_time_all_stays_that_may(name):
    problem = example_problems()[name]
    running = solve(problem, time_limit_s=10)
    with no_time():
        plan, report = replan(problem, running, move_price=1.0, time_limit_s=0.1)
    assert report.moved == ()
    assert plan.cost_per_hour == pytest.approx(running.cost_per_hour)
    assert not check(problem, plan, PROFILES)


def test_gpus_too_few_for_the_rates_are_no_plan():
    problem = random_mps_problem(10, 0)
    running = solve(problem, "igniter")
    few = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 1}),)})
    plan, report = replan(few, running, move_price=1.0, time_limit_s=10)
    assert (plan.gpus, plan.status) == ((), "infeasible")
    assert {one.workload for one in plan.unserved}
    assert report.total_per_hour is None


def test_routers_that_know_states_are_refused_with_the_setting():
    problem = table_3(dispatch="central", latency="percentile")
    with pytest.raises(InputError, match=r"settings.dispatch is central; with MPS .* weighted turns only"):
        replan(problem, solve(table_3(), "igniter"), move_price=1.0)
