"""
Every question of problems in which partitions carry together what is no sum: against all sets of small services.

The oracle enumerates sets and judges each by the formula; what a bound excludes it must not find.
"""

from itertools import product

import pytest
from oracles import igniter_scalar
from oracles.promise_scalar import greatest_rps
from oracles.server_sets_oracle import NAMES, SLICES, carried, few_points, fewest, gpus_of, in_turn, sets_that_carry
from problems.igniter_instances import COEFFICIENTS, FLEET, GPU, MODELS, table_3
from problems.instances import problem_of

from sliceplan.solver.api import capacity, headroom, price, shed, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status

BY_STATE = {"latency": "percentile", "dispatch": "least_expected"}
PROFILE = few_points()


def services(*asked, count=None, **settings):
    """Returns a problem of services, each with a rate and an SLO, on GPUs of one type."""
    workloads = [{"model": "resnet50", "rate_rps": rate, "slo_ms": slo, **more} for rate, slo, more in asked]
    entry = {"gpu": "A100-80GB"} | ({} if count is None else {"count": count})
    return problem_of(workloads, fleet=[entry], max_processes=1, **(BY_STATE | settings))


def held(problem, plan):
    """Asserts that a plan holds, and costs no less than is proven."""
    assert check(problem, plan, [PROFILE]) == []
    assert plan.bound.cost_per_hour <= plan.cost_per_hour * (1 + 1e-9)


@pytest.mark.parametrize("slo_ms", [24, 90])
def test_rates_fit_at_the_factor_and_no_set_carries_them_beyond_its_limit(slo_ms):
    found = headroom(services((700, slo_ms, {}), count=1), profiles=[PROFILE])
    factor, limit = found.report.factor, found.report.factor_limit
    assert fewest(PROFILE, 700 * factor * (1 - 1e-6), slo_ms, 1) == 1
    assert fewest(PROFILE, 700 * limit * (1 + 1e-6), slo_ms, 1) is None
    assert factor <= limit < 1.2 * factor
    held(found.problem, found.plan)


def test_replicas_that_are_enough_together_and_not_in_turns_are_planned_or_said_not_to_be():
    """At some rates two partitions carry by their set what two do not in turns, or by the estimate of their kind."""
    found = headroom(services((700, 45, {"max_replicas": 2}), count=2), profiles=[PROFILE])
    held(found.problem, found.plan)
    rate = 700 * found.report.factor
    for more in (1.0005, 1.01, 1.1):
        plan = solve(services((rate * more, 45, {"max_replicas": 2})), profiles=[PROFILE])
        assert plan.gpus or plan.unserved


@pytest.mark.parametrize(("rates", "values"), [((1500, 900, 500), (3, 2, 2)), ((800, 800, 2600), (1, 2, 4))])
def test_no_choice_of_services_loses_less_than_is_proven(rates, values):
    slos = (40, 24, 90)
    of_each = [sets_that_carry(PROFILE, rate, slo, 1) for rate, slo in zip(rates, slos, strict=True)]
    least = sum(values)
    for kept in product((False, True), repeat=3):
        chosen = [sets for sets, is_kept in zip(of_each, kept, strict=True) if is_kept]
        lost = sum(value for value, is_kept in zip(values, kept, strict=True) if not is_kept)
        if lost < least and fit_together(chosen):
            least = lost
    rows = [(r, slo, {"value": float(v)}) for r, slo, v in zip(rates, slos, values, strict=True)]
    found = shed(services(*rows, count=1), profiles=[PROFILE])
    assert found.report.least_value_lost <= least + 1e-9 <= found.report.value_lost + 2e-9
    assert found.report.value_lost < sum(values)
    held(found.problem, found.plan)


def fit_together(chosen):
    """Tells whether some sets, one of each service, fit on a GPU."""
    sums = {(0, 0, 0)}
    for sets in chosen:
        least = [one for one in sets if not any(other != one and less_or_equal(other, one) for other in sets)]
        sums = {tuple(a + b for a, b in zip(one, other, strict=True)) for one in sums for other in least}
        sums = {one for one in sums if gpus_of(one) <= 1}
    return bool(sums)


def less_or_equal(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("slo_ms", "number"), [(40, 5), (24, 7), (90, 3)])
def test_what_is_kept_free_costs_no_less_than_proven_and_holds_in_trouble(slo_ms, number):
    """The known plan: services on partitions of one slice, at all that these carry, and what is free beside them."""
    small = [point for point in PROFILE.points if point.mig_profile == "1g.10gb" and 2 * point.latency_ms <= slo_ms]
    kinds = [(point.batch, point.latency_ms) for point in small]
    sets = [counts for counts in product(range(number + 1), repeat=len(kinds)) if sum(counts) == number]
    rate = max(carried(kinds, counts, 1e5, slo_ms) for counts in sets) * (1 - 1e-6)
    lost = services((rate, slo_ms, {}), spare_gpu_loss=True)
    plan = solve(lost, profiles=[PROFILE])
    held(lost, plan)
    assert plan.bound.gpus <= 2  # a GPU cut in sevenths, and another one
    more = services((rate, slo_ms, {}), spare_services=1, spare_rate=0.5)
    plan = solve(more, profiles=[PROFILE])
    held(more, plan)
    each = max(in_turn(b, t, slo_ms, rate) for b, t in kinds)
    known = -(-max(number, -(-1.5 * rate // each)) // 7)
    assert plan.bound.gpus <= known
    emptied = [without_free(gpu) for gpu in plan.gpus]
    wrong = check(more, plan.model_copy(update={"gpus": tuple(gpu for gpu in emptied if gpu.partitions)}), [PROFILE])
    assert any("need 50% more rate at once" in one.message for one in wrong)


def without_free(gpu):
    return gpu.model_copy(update={"partitions": tuple(one for one in gpu.partitions if one.serves)})


@pytest.mark.parametrize("model", range(4))
@pytest.mark.parametrize("slo_ms", [30, 70])
def test_no_bound_under_mps_excludes_what_residents_carry_together(model, slo_ms):
    """The known plan: a resident alone on each of two GPUs, at all that they carry together."""
    best = 0.0
    for batches in product((1, 2, 4, 8, 16, 32), repeat=2):
        figures = [igniter_scalar.predict(GPU, [(COEFFICIENTS[model], b, 100.0)])[0] for b in batches]
        kinds = [
            (b, max(one.latency_ms, 1000 * b / one.throughput_rps)) for b, one in zip(batches, figures, strict=True)
        ]
        best = max(best, carried(kinds, (1, 1), 1e5, slo_ms))
    assert best > 0
    workload = {"model": MODELS[model], "rate_rps": best * (1 - 1e-6), "slo_ms": slo_ms}
    plan = solve(problem_of([workload], fleet=FLEET, **BY_STATE))
    assert check(problem_of([workload], fleet=FLEET, **BY_STATE), plan, shipped_profiles()) == []
    assert plan.bound.gpus <= 2
    in_turns = 2 * max(
        greatest_rps(b, t, slo_ms, 0.99, best, by_turns=True)
        for b in (1, 2, 4, 8, 16, 32)
        for t in [igniter_scalar.predict(GPU, [(COEFFICIENTS[model], b, 100.0)])[0].latency_ms]
    )
    assert in_turns < best * 1.001


@pytest.mark.parametrize("slo_ms", [24, 90])
def test_no_set_carries_more_than_is_proven_of_most_capacity(slo_ms):
    asked = services((100, slo_ms, {}), count=1)
    plan = capacity(asked, profiles=[PROFILE]).plan
    points = [point for point in PROFILE.points if 2 * point.latency_ms <= slo_ms]
    kinds = [(point.batch, point.latency_ms) for point in points]
    most = 0.0
    for counts in product(range(8), repeat=len(kinds)):
        slices = sum(n * SLICES[point.mig_profile] for n, point in zip(counts, points, strict=True))
        if slices <= 7:
            of_size = dict.fromkeys(NAMES, 0)
            for n, point in zip(counts, points, strict=True):
                of_size[point.mig_profile] += n
            if gpus_of(tuple(of_size.values())) <= 1:
                most = max(most, carried(kinds, counts, 100, slo_ms))
    stated = plan.capacity
    assert stated.value * (1 - 1e-9) <= most <= stated.limit * (1 + 1e-9)
    assert stated.value > 0.8 * most


def test_neighbours_mixed_fleets_prices_and_what_is_left_out_are_answered_by_sets():
    mixed = [{"gpu": "A100-80GB", "sharing": ["mig"]}, {"gpu": "V100-SXM2-16GB", "sharing": ["mps", "exclusive"]}]
    workloads = [
        {"model": "resnet50", "rate_rps": 700, "slo_ms": 40},
        {"model": "vgg19", "rate_rps": 150, "slo_ms": 90},
        {"model": "alexnet", "rate_rps": 900, "slo_ms": 25},
    ]
    for fleet in (mixed, FLEET):
        problem = problem_of(workloads, fleet=fleet, **BY_STATE)
        plan, report = price(problem)
        assert check(problem, plan, shipped_profiles()) == []
        assert plan.bound.cost_per_hour <= plan.cost_per_hour * (1 + 1e-9)
        assert sum(row.usd_per_hour for row in report.services) == pytest.approx(plan.cost_per_hour)
    few = problem_of(workloads[:1], fleet=[{**FLEET[0], "count": 1}], **BY_STATE)
    grown = headroom(few)
    assert 0 < grown.report.factor <= grown.report.factor_limit
    assert check(grown.problem, grown.plan, shipped_profiles()) == []
    large = problem_of([{**one, "rate_rps": 1.5 * one["rate_rps"]} for one in workloads], fleet=few.fleet, **BY_STATE)
    assert large.fleet[0].count == 1
    left = shed(large)
    assert left.report.least_value_lost <= left.report.value_lost
    assert left.plan.status in (Status.OPTIMAL, Status.FEASIBLE)


def test_a_resident_s_part_of_a_set_that_is_stated_wrong_is_found():
    problem = table_3().model_copy(
        update={"settings": table_3().settings.model_copy(update=BY_STATE), "workloads": table_3().workloads[:3]}
    )
    plan = solve(problem)
    gpu = plan.gpus[0]
    served = gpu.partitions[0].serves[0]
    part = gpu.partitions[0].model_copy(
        update={"serves": (served.model_copy(update={"promised_rps": served.promised_rps * 1.01}),)}
    )
    changed = plan.model_copy(
        update={"gpus": (gpu.model_copy(update={"partitions": (part, *gpu.partitions[1:])}), *plan.gpus[1:])}
    )
    assert any("states promised_rps" in one.message for one in check(problem, changed, shipped_profiles()))
