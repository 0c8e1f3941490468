"""Percentiles and worst cases beside neighbours under MPS: against trying everything, and simulated."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import igniter_scalar
from oracles.promise_scalar import greatest_rps
from oracles.queue_oracle import part_late
from problems.igniter_instances import COEFFICIENTS, FLEET, GPU, MODELS, table_3
from problems.instances import problem_of

from sliceplan.solver.api import headroom, price, shed, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.latency_rules.percentile import Percentile
from sliceplan.solver.performance.latency_rules.rule import Asked

PROMISES = (
    {"latency": "percentile"},
    {"latency": "percentile", "dispatch": "random", "quantile": 0.95},
    {"latency": "worst_case"},
    {"latency": "assembly"},
)
BATCHES = [1, 4, 16]
MANY = 10**9


def promising(problem, **promise):
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=promise)})


def allowed_rps(problem, workload, batch, time_ms):
    asked = problem.settings
    if asked.latency == "worst_case":
        return 1000 * batch / time_ms if 2 * time_ms <= workload.slo_ms * (1 + 1e-9) else 0.0
    if asked.latency == "assembly":
        needed_ms = time_ms if batch == 1 else 2 * time_ms
        return 1000 * batch / time_ms if needed_ms <= workload.slo_ms * (1 + 1e-9) else 0.0
    by_turns = asked.dispatch == "weighted_round_robin"
    slo_ms = workload.slo_ms * (1 + 1e-9)
    return greatest_rps(batch, time_ms, slo_ms, asked.quantile, workload.rate_rps, by_turns=by_turns)


@settings(max_examples=150)
@given(
    st.integers(1, 64),
    st.floats(5, 500),
    st.floats(0.5, 5000),
    st.integers(1, 8),
    st.sampled_from([0.5001, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999]),
    st.booleans(),
)
def test_the_longest_time_is_where_the_greatest_rate_falls_below_the_rate(batch, slo, rate, parts, quantile, by_turns):
    rule = Percentile(by_turns=by_turns, shared=True)
    whole = rate * parts
    asked = Asked(np.array([slo]), np.array([whole]), np.array([quantile]))
    longest = float(rule.longest_ms(np.array([batch]), np.array([rate]), asked)[0])

    def greatest(time_ms):
        return greatest_rps(batch, time_ms, slo, quantile, whole, by_turns=by_turns)

    assert 0 < longest <= slo / 2
    for shorter in (1 - 1e-9, 0.9, 0.5, 0.1):
        assert greatest(longest * shorter) >= rate * (1 - 1e-9)
    for longer in (1 + 1e-7, 1.01, 1.5):
        assert greatest(longest * longer) < rate * (1 + 1e-9)


def fits(problem, members):
    """Tells by the scalar equations, one unit at a time, whether a set fits with some choice of batch sizes."""
    of = [problem.workloads[w] for w in members]
    known = [COEFFICIENTS[MODELS.index(one.model)] for one in of]
    for batches in product(BATCHES, repeat=len(of)):
        units = [1] * len(of)
        while sum(units) <= 40:
            residents = [(one, b, u * 2.5) for one, b, u in zip(known, batches, units, strict=True)]
            figures = igniter_scalar.predict(GPU, residents)
            kept = [
                allowed_rps(problem, one, b, f.latency_ms) >= one.rate_rps * (1 - 1e-8)
                for one, b, f in zip(of, batches, figures, strict=True)
            ]
            if all(kept):
                return True
            units = [u + (not k) for u, k in zip(units, kept, strict=True)]
    return False


def fewest_gpus(problem):
    """The least number of GPUs by dynamic programming over subsets; MANY: some workload fits nowhere."""
    count = len(problem.workloads)
    feasible = {
        sum(1 << w for w in members)
        for size in range(1, count + 1)
        for members in combinations(range(count), size)
        if fits(problem, members)
    }

    @cache
    def least(left):
        first = left & -left
        return min((1 + least(left & ~s) for s in feasible if s & first and s & left == s), default=MANY) if left else 0

    return least((1 << count) - 1)


@st.composite
def problems(draw, most):
    """Draws workloads that a V100 can mostly serve, each by one resident."""
    rows = draw(
        st.lists(st.tuples(st.integers(0, 3), st.floats(25, 120), st.floats(0.02, 0.5)), min_size=1, max_size=most)
    )
    full = (4500, 900, 330, 220)
    workloads = [
        {"model": MODELS[m], "slo_ms": round(slo, 3), "rate_rps": round(full[m] * load, 3), "max_replicas": 1}
        for m, slo, load in rows
    ]
    rules = draw(st.sampled_from(PROMISES))
    return problem_of([{**one, "batch_sizes": BATCHES} for one in workloads], fleet=FLEET, **rules)


@settings(max_examples=10, deadline=None)
@given(problems(most=4))
def test_cost_and_bound_enclose_the_optimum_of_a_subset_program(problem):
    expected = fewest_gpus(problem)
    plan = solve(problem)
    if expected >= MANY:
        assert plan.status is Status.INFEASIBLE
        return
    assert plan.bound.gpus <= expected <= plan.gpus_used
    assert plan.status is not Status.OPTIMAL or plan.gpus_used == expected
    assert not check(problem, plan, shipped_profiles())


@pytest.mark.parametrize(
    ("promise", "rules"),
    [(PROMISES[0], "free"), *((promise, "igniter") for promise in PROMISES)],
    ids=str,
)
def test_plans_of_the_published_workloads_hold_and_say_up_to_which_rate(promise, rules):
    problem = promising(table_3(mps_rules=rules), **promise)
    plan = solve(problem)
    assert plan.gpus
    assert plan.promise.latency == promise["latency"]
    by_name = {one.name: one for one in problem.workloads}
    served = [one for gpu in plan.gpus for part in gpu.partitions for one in part.serves]
    for one in served:
        assert one.promised_rps == pytest.approx(
            allowed_rps(problem, by_name[one.workload], one.batch, one.latency_ms), rel=1e-6
        )
        assert one.rate_rps <= one.promised_rps * (1 + 1e-6)
    gpu = plan.gpus[0]
    more = gpu.partitions[0].serves[0]
    for promised, said in ((more.promised_rps * 1.01, "states promised_rps"), (None, "states promised_rps None")):
        part = gpu.partitions[0].model_copy(update={"serves": (more.model_copy(update={"promised_rps": promised}),)})
        changed = gpu.model_copy(update={"partitions": (part, *gpu.partitions[1:])})
        wrong = check(problem, plan.model_copy(update={"gpus": (changed, *plan.gpus[1:])}), shipped_profiles())
        assert any(said in one.message for one in wrong)


@pytest.mark.parametrize("promise", PROMISES[:2], ids=str)
def test_simulated_requests_are_in_time_beside_neighbours_that_are_always_busy(promise):
    problem = promising(table_3(mps_rules="igniter"), **promise)
    plan = solve(problem)
    draw, quantile, count = np.random.default_rng(2), problem.settings.quantile, 20_000
    for workload in problem.workloads:
        served = [
            one for gpu in plan.gpus for part in gpu.partitions for one in part.serves if one.workload == workload.name
        ]
        servers = [(np.full(one.batch, one.latency_ms), 1) for one in served]
        weights = [one.rate_rps for one in served]
        assert sum(weights) == pytest.approx(workload.rate_rps)
        by_turns = plan.promise.dispatch == "weighted_round_robin"
        late = part_late(draw, sum(weights) / 1000, servers, weights, workload.slo_ms, by_turns=by_turns, count=count)
        assert late <= 1 - quantile + 4 * 3 * np.sqrt((1 - quantile) / count)


@pytest.mark.parametrize("planner", ["igniter", "ffd", "gslice"])
def test_published_planners_keep_their_rule_and_miss_the_promise(planner):
    problem = promising(table_3(), latency="percentile")
    plan = solve(problem, planner)
    assert plan.status is Status.VIOLATING
    assert plan.gpus_used == solve(table_3(), planner).gpus_used
    assert plan.violations
    assert all(one.excess > 0 for one in plan.violations)
    assert "99 % are within its SLO of" in plan.violations[0].message
    assert not [one for one in check(problem, plan, shipped_profiles()) if one.excess is None]


def test_every_other_question_is_answered_beside_neighbours_too():
    """Each answer is verified before it is returned, at the rates that it is for."""
    workloads = table_3().workloads[3:8]
    problem = promising(table_3(mps_rules="igniter"), latency="percentile").model_copy(update={"workloads": workloads})
    few = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 4}),)})
    grown = headroom(few)
    assert 0 < grown.report.factor <= grown.report.factor_limit
    assert solve(grown.problem).gpus_used <= 4
    one = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 1}),)})
    left = shed(one)
    assert left.plan.gpus_used == 1
    assert left.report.shed
    plan, report = price(problem)
    assert sum(row.usd_per_hour for row in report.services) == pytest.approx(plan.cost_per_hour)


def test_mixed_fleets_and_rates_beyond_a_gpu_are_promised_too():
    mixed = [{"gpu": "A100-80GB", "sharing": ["mig"]}, {"gpu": "V100-SXM2-16GB", "sharing": ["mps", "exclusive"]}]
    workloads = [
        {"model": "resnet50", "rate_rps": 300, "slo_ms": 120},
        {"model": "vgg19", "rate_rps": 150, "slo_ms": 150},
        {"model": "resnet50", "rate_rps": 50, "slo_ms": 400},
    ]
    together = solve(problem_of(workloads, fleet=mixed, latency="percentile"))
    assert together.gpus
    for entry in mixed:
        alone = solve(problem_of(workloads, fleet=[entry], latency="percentile"))
        assert together.bound.cost_per_hour <= alone.cost_per_hour + 1e-9
    for rules in ("free", "igniter"):
        large = {"model": "resnet50", "rate_rps": 3000, "slo_ms": 60}
        plan = solve(problem_of([large], fleet=FLEET, latency="percentile", mps_rules=rules))
        assert plan.gpus_used > 2


def test_what_no_share_keeps_is_said_with_the_slo_that_would_do():
    workload = {"model": "ssd", "rate_rps": 10, "slo_ms": 5}
    plan = solve(problem_of([workload], fleet=FLEET, latency="percentile"))
    assert plan.status is Status.INFEASIBLE
    (one,) = plan.unserved
    assert "its SLO of 5 ms is too short: a request that just misses a batch waits for it" in one.reason
    assert "an SLO of 12.4 ms would do" in one.reason
