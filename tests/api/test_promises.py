"""Plans that promise something of requests that wait: every way to a plan, and what simulated requests say of it."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracles.queue_oracle import part_late
from problems.instances import (
    problem_of,
    problems,
    published_profiles,
    published_scenario,
    scenario_problem,
    shipped_scenario,
)

from sliceplan.solver.api import compare, headroom, price, replan, shed, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.problem_files import parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.wording.promise import promised

PROMISES = (
    {"latency": "percentile"},
    {"latency": "percentile", "dispatch": "random", "quantile": 0.95},
    {"latency": "percentile", "process_queues": "own"},
    {"latency": "worst_case"},
    {"latency": "assembly"},
)
BUSY = [
    {"model": "resnet50", "rate_rps": 3000, "slo_ms": 60},
    {"model": "bert", "rate_rps": 40, "slo_ms": 900},
    {"model": "vgg19", "rate_rps": 300, "slo_ms": 120, "value": 3},
]


def promising(problem, **promise):
    """Returns the problem with other settings."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=promise)})


@pytest.mark.parametrize(
    ("promise", "gpus"),
    [
        ({"dispatch": "random", "process_queues": "own"}, (2, 3, 5, 7, 14, 17)),
        ({"dispatch": "random", "process_queues": "own", "quantile": 0.95}, (2, 3, 5, 7, 13, 16)),
        ({"dispatch": "random", "process_queues": "own", "quantile": 0.999}, (2, 3, 5, 7, 14, 17)),
        ({"dispatch": "random"}, (2, 3, 5, 7, 13, 16)),
        ({"dispatch": "weighted_round_robin"}, (2, 3, 5, 7, 13, 16)),
        ({"dispatch": "weighted_round_robin", "quantile": 0.95}, (2, 3, 5, 7, 13, 16)),
        ({"latency": "assembly"}, (2, 3, 4, 6, 12, 14)),
    ],
    ids=str,
)
def test_the_published_scenarios_need_as_many_gpus_as_found_with_another_program(promise, gpus):
    """Those of `assembly` were found with this one only."""
    profiles, promise = published_profiles(), {"latency": "percentile", **promise}
    scenarios = [promising(published_scenario(n, max_processes=5), **promise) for n in range(1, 7)]
    plans = [solve(problem, profiles=profiles) for problem in scenarios]
    assert tuple(plan.gpus_used for plan in plans) == gpus
    assert {plan.status for plan in plans} == {Status.OPTIMAL}


@pytest.mark.parametrize(
    ("promise", "gpus"),
    [
        ({"latency": "execution"}, 77),
        ({"latency": "percentile", "dispatch": "random"}, 81),
        ({"latency": "percentile"}, 81),
    ],
    ids=str,
)
def test_random_services_need_as_many_gpus_as_the_documentation_says(promise, gpus):
    asked = promising(scenario_problem(100, 1), max_processes=5, slo_fraction=0.5, **promise)
    plan = solve(asked, profiles=published_profiles())
    assert (plan.gpus_used, plan.status) == (gpus, Status.OPTIMAL)


@settings(max_examples=12, suppress_health_check=[HealthCheck.filter_too_much])
@given(problems(max_workloads=4), st.sampled_from(PROMISES))
def test_two_formulations_agree_and_check_finds_promises_that_are_raised_or_too_low_for_the_rate(problem, promise):
    problem = promising(problem, **promise)
    plan = solve(problem)
    assume(plan.gpus)
    assert solve(problem, "exact-pulp").cost_per_hour == pytest.approx(plan.cost_per_hour)
    gpu = plan.gpus[0]
    served = gpu.partitions[0].serves[0]

    def wrong_of(promised_rps):
        changed = served.model_copy(update={"promised_rps": promised_rps})
        partition = gpu.partitions[0].model_copy(update={"serves": (changed,)})
        other = gpu.model_copy(update={"partitions": (partition, *gpu.partitions[1:])})
        return check(problem, plan.model_copy(update={"gpus": (other, *plan.gpus[1:])}), shipped_profiles())

    assert any("states promised_rps" in one.message for one in wrong_of(served.promised_rps * 1.01))
    if promise["latency"] == "percentile":
        assert not wrong_of((served.promised_rps + served.rate_rps) / 2)
        assert any("req/s here" in one.message for one in wrong_of(served.rate_rps * 0.99))


@pytest.mark.parametrize("promise", PROMISES[:3], ids=str)
def test_simulated_requests_of_every_service_of_a_plan_keep_its_promise(promise):
    problem = promising(shipped_scenario(1), **promise)
    plan = solve(problem)
    draw, quantile = np.random.default_rng(1), problem.settings.quantile
    for workload in problem.workloads:
        servers, weights = [], []
        for served in (one for gpu in plan.gpus for part in gpu.partitions for one in part.serves):
            if served.workload != workload.name:
                continue
            time_ms = max(served.latency_ms, 1000 * served.batch * served.processes / served.capacity_rps)
            apart = served.processes if plan.promise.process_queues == "own" else 1
            servers += [(np.full(served.batch, time_ms), served.processes // apart)] * apart
            weights += [served.rate_rps / apart] * apart
        by_turns = plan.promise.dispatch == "weighted_round_robin"
        assert sum(weights) == pytest.approx(workload.rate_rps)
        late = part_late(draw, sum(weights) / 1000, servers, weights, workload.slo_ms, by_turns=by_turns, count=25_000)
        assert late <= 1 - quantile + 4 * 3 * np.sqrt((1 - quantile) / 25_000)


def test_a_plan_says_what_it_promises_and_its_summary_in_words():
    problem = problem_of([*BUSY[:2], {**BUSY[2], "slo_quantile": 0.999}], latency="percentile", quantile=0.95)
    plan = solve(problem)
    assert plan.promise.model_dump() == {
        "latency": "percentile",
        "quantile": 0.95,
        "quantiles": {"w2": 0.999},
        "dispatch": "weighted_round_robin",
        "process_queues": "shared",
    }
    assert promised(plan) == [
        "promised: 95 % of requests within the SLO (1 with a quantile of their own) for",
        "  Poisson arrivals, dealt by weighted round robin",
    ]
    evenly = solve(problem_of(BUSY, latency="worst_case"))
    assert promised(evenly) == [
        "promised: all requests within the SLO if they arrive evenly spaced at each",
        "  partition",
    ]
    held = solve(problem_of(BUSY, latency="assembly"))
    assert promised(held)[-1] == "  partition, batches held until full"
    plain = solve(problem_of(BUSY))
    assert plain.promise is None
    assert promised(plain) == [
        "promised: execution within a part of the SLO; how many requests are late is",
        "  not planned for",
    ]


def test_published_planners_keep_their_rule_and_are_judged_by_the_problem_s():
    problem = problem_of(BUSY, latency="percentile", quantile=0.999)
    rows = {row.planner: row for row in compare(problem, ["exact", "parvagpu", "migserving-greedy", "whole-gpu"]).rows}
    assert rows["exact"].status is Status.OPTIMAL
    assert rows["whole-gpu"].status is Status.FEASIBLE
    missed = rows["parvagpu"]
    assert missed.status is Status.VIOLATING
    assert {one.workload for one in missed.violations} <= {"w0", "w1", "w2"}
    assert all(one.excess > 0 for one in missed.violations)
    assert "99.9 % are within its SLO of 60 ms up to" in missed.violations[0].message
    assert not [one for one in check(problem, missed, shipped_profiles()) if one.excess is None]
    by_execution = solve(problem_of(BUSY), "parvagpu")
    assert [gpu.partitions[0].mig_profile for gpu in missed.gpus] == [
        gpu.partitions[0].mig_profile for gpu in by_execution.gpus
    ]


def test_a_plan_is_certified_for_no_other_router_than_its_own():
    at_random = problem_of(BUSY, latency="percentile", dispatch="random")
    in_turns = promising(at_random, dispatch="weighted_round_robin")
    plan = solve(in_turns)
    said = [str(one) for one in check(at_random, plan, shipped_profiles())]
    assert any("is for requests dealt by weighted_round_robin; the problem deals them by random" in one for one in said)
    assert not check(in_turns, plan, shipped_profiles())


@pytest.mark.parametrize("promise", PROMISES[::3], ids=str)
def test_every_other_question_is_answered_under_the_rule(promise):
    """Each answer is verified before it is returned, at the rates that it is for."""
    problem = problem_of(BUSY, fleet=[{"gpu": "A100-80GB", "count": 4}], **promise)
    grown = headroom(problem)
    assert grown.report.factor_limit / grown.report.factor <= 1 + 2e-5
    assert solve(grown.problem).gpus_used <= 4
    less = promising(grown.problem, headroom=-0.0)
    for part in (0.9, 0.5, 0.2):
        lower = tuple(one.model_copy(update={"rate_rps": one.rate_rps * part}) for one in less.workloads)
        assert solve(less.model_copy(update={"workloads": lower})).gpus
    left = shed(problem_of(BUSY, fleet=[{"gpu": "A100-80GB", "count": 1}], **promise))
    assert left.plan.gpus_used == 1
    assert "w2" not in {one.workload for one in left.report.shed}
    plan, report = price(problem)
    assert sum(one.usd_per_hour for one in report.services) == pytest.approx(plan.cost_per_hour)
    assert all(one.rate_up_usd_per_hour >= -1e-9 for one in report.services)
    more = tuple(one.model_copy(update={"rate_rps": one.rate_rps * 1.2}) for one in problem.workloads)
    changed = problem.model_copy(update={"workloads": more})
    again, _ = replan(changed, plan, move_price=0.5)
    assert again.gpus
    assert again.promise == plan.promise
    spare = solve(promising(problem, spare_services=1, spare_rate=0.3, spare_gpu_loss=True))
    assert spare.gpus_used >= plan.gpus_used


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "settings: {latency: percentile, quantile: 1}",
            "settings.quantile is 1; expected a number of at most 0.99999",
        ),
        (
            "settings: {latency: percentile, quantile: 0.4}",
            "settings.quantile is 0.4; expected a number above 0.5",
        ),
        # Such a plan could be made, and not be simulated.
        (
            "settings: {latency: percentile, quantile: 0.5}",
            "settings.quantile is 0.5; expected a number above 0.5",
        ),
        ("settings: {latency: percentiles}", "settings.latency is 'percentiles'; expected"),
        ("settings: {dispatch: robin}", "settings.dispatch is 'robin'; expected"),
        (
            "settings: {}",
            "slo_quantile is given (a), but settings.latency is 'execution', which promises no percentile",
        ),
    ],
)
def test_wrong_promises_are_refused_where_they_stand(line, message):
    own = ", slo_quantile: 0.9" if line.endswith("{}") else ""
    text = (
        "version: 1\nname: p\nfleet: [{gpu: A100-80GB}]\n"
        f"workloads: [{{name: a, model: bert, rate_rps: 1, slo_ms: 900{own}}}]\n{line}\n"
    )
    with pytest.raises(InputError) as caught:
        parse_problem(text, "p.yaml")
    assert any(message in str(one) for one in caught.value.findings), caught.value.findings


def test_an_slo_that_no_batch_keeps_says_which_one_would_do():
    plan = solve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 1}], latency="percentile"))
    assert plan.status is Status.INFEASIBLE
    enough = float(plan.unserved[0].reason.split("an SLO of ")[1].split(" ms")[0])
    assert solve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": enough}], latency="percentile")).gpus
    assert not solve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": enough - 0.2}], latency="percentile")).gpus
