"""`check` finds each kind of mistake on a GPU under MPS, and tells a missed SLO from a wrong plan."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import FLEET, V100, table_3
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.check import shares as shares_module
from sliceplan.solver.check.shares import _broken_promise, _broken_slo, _whole_units, _wrong_origin, _wrong_totals
from sliceplan.solver.check.violation import NOT_AT_ANY_RATE
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan

PROBLEM = table_3(mps_rules="igniter")
PLAN = solve(PROBLEM).model_dump(mode="json")


def first(plan):
    """The first partition of a GPU with several."""
    return next(gpu for gpu in plan["gpus"] if len(gpu["partitions"]) > 1)["partitions"][0]


def violations(change, problem=PROBLEM, plan=PLAN):
    changed = Plan.model_validate(plan).model_dump(mode="json")
    change(changed)
    return check(problem, Plan.model_validate(changed), shipped_profiles())


def unchanged(_):
    """Leaves the plan as it is."""


def set_partition(**fields):
    return lambda plan: first(plan).update(fields)


def set_served(**fields):
    return lambda plan: first(plan)["serves"][0].update(fields)


def other_causes(plan):
    first(plan)["serves"][0]["causes_ms"]["throttling"] += 1.0


def no_cause(plan):
    del first(plan)["serves"][0]["causes_ms"]["loading"]


def twice_in_one_share(plan):
    first(plan)["serves"] *= 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_partition(mig_profile="1g.5gb", start=0), "no MIG profile or start"),
        (set_partition(mig_profile="1g.5gb"), "no MIG profile or start"),
        (set_partition(start=0), "no MIG profile or start"),
        (set_partition(sm_percent=None), "has a share (sm_percent)"),
        (set_partition(sm_percent=21.3), "multiples of 2.5 %"),
        (set_served(workload="nobody"), "not in the problem"),
        (set_served(basis="estimated"), "states the basis estimated; the profile's is fitted"),
        (set_served(memory_mib=12.0), "states 12.0 MiB of memory"),
        (set_served(processes=2), "knows one a share"),
        (set_served(batch=10**30), "ms; the interference model gives"),
        (set_served(latency_ms=1.0), "states 1 ms; the interference model gives"),
        (set_served(capacity_rps=1.0), "states 1 req/s; the model gives"),
        (set_served(causes_ms=None), "other causes"),
        (other_causes, "other causes"),
        (no_cause, "other causes"),
        (twice_in_one_share, "a share serves one"),
        (set_partition(serves=[]), "a share that serves nothing"),
    ],
)
def test_a_wrong_gpu_is_found_out(change, message):
    assert any(message in str(found) for found in violations(change)), [str(found) for found in violations(change)]


def test_the_plan_itself_holds():
    assert violations(unchanged) == []


def test_a_share_too_small_for_the_slo_is_found_by_the_full_model_and_says_by_how_much():
    found = violations(set_partition(sm_percent=2.5))
    broken = [one for one in found if one.excess is not None]
    assert broken
    assert all(one.workload and one.excess > 0 for one in broken)


def test_shares_over_the_whole_gpu_are_found_and_belong_to_no_service():
    found = violations(set_partition(sm_percent=100.0))
    (over,) = [one for one in found if "gives away" in one.message]
    assert over.workload is None
    assert over.excess > 0


def replanned(plan, problem):
    """Returns a plan that claims to answer another problem."""
    return {**plan, "problem": reference(problem).model_dump()}


@pytest.mark.parametrize(
    ("workload", "settings", "message"),
    [
        ({"memory_mib": 20000}, {}, "MiB of memory; it has"),
        ({"memory_mib": 9000}, {"shadow_percent": 10}, "MiB of memory; it has"),
        ({"gpus": ["T4"]}, {}, "allows only T4"),
        ({"batch_sizes": [31]}, {}, "is not allowed for"),
        ({}, {"shadow_percent": 95}, "beside 95 % for standby processes"),
        ({"slo_ms": 3}, {}, "its SLO of 3 ms leaves 1.5 ms"),
    ],
)
def test_limits_of_the_problem_hold_on_a_shared_gpu(workload, settings, message):
    one = {"model": "resnet50", "rate_rps": 100, "slo_ms": 100}
    fleet = [{"gpu": V100, "sharing": ["mps"]}, {"gpu": "T4", "sharing": ["mps"]}]
    plan = solve(problem_of([{**one, "gpus": [V100]}], fleet=fleet)).model_dump(mode="json")
    stricter = problem_of([{**one, **workload}], fleet=fleet, **settings)
    found = violations(unchanged, stricter, replanned(plan, stricter))
    assert any(message in str(one) for one in found), [str(one) for one in found]


def test_more_residents_than_mps_clients_are_found_out():
    one = {"model": "alexnet", "rate_rps": 0.5, "slo_ms": 200}
    problem = problem_of([one], fleet=FLEET)
    plan = solve(problem).model_dump(mode="json")
    plan["gpus"][0]["partitions"] *= 49
    found = violations(unchanged, problem, plan)
    assert any("49 MPS clients; at most 48" in str(one) for one in found)


def test_a_model_without_coefficients_is_found_out():
    found = check(PROBLEM, Plan.model_validate(PLAN), [p for p in shipped_profiles() if p.model != "ssd"])
    assert any("no profile of ssd has interference coefficients" in str(one) for one in found)


def whole_gpu():
    fleet = [{"gpu": "T4", "sharing": ["exclusive"]}]
    problem = problem_of([{"model": "vgg19", "rate_rps": 20, "slo_ms": 200}], fleet=fleet)
    return problem, solve(problem).model_dump(mode="json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: plan["gpus"][0]["partitions"][0].update(sm_percent=50.0), "is used whole, but"),
        (lambda plan: plan["gpus"][0].update(partitions=plan["gpus"][0]["partitions"] * 2), "is used whole, but"),
        (lambda plan: plan["gpus"][0]["partitions"][0]["serves"][0].update(batch=33), "no profile of vgg19 knows"),
        (lambda plan: plan["gpus"][0]["partitions"][0]["serves"][0].update(latency_ms=1.0), "states 1 ms"),
        (lambda plan: plan["gpus"][0]["partitions"][0]["serves"][0].update(basis="fitted"), "profile's is estimated"),
        (lambda plan: plan["gpus"][0]["partitions"][0]["serves"][0].update(memory_mib=1.0), "states memory_mib 1,"),
        (lambda plan: plan["gpus"][0]["partitions"][0]["serves"][0].update(causes_ms={}), "(causes_ms)"),
        (lambda plan: plan["gpus"][0].update(sharing="mps"), "the fleet allows whole GPUs"),
    ],
)
def test_a_wrong_whole_gpu_is_found_out(change, message):
    problem, plan = whole_gpu()
    assert violations(unchanged, problem, plan) == []
    assert any(message in str(found) for found in violations(change, problem, plan))


@pytest.mark.parametrize(
    ("units", "is_whole"),
    [(39, True), (39 * (1 + 5e-7), True), (39 * (1 + 2e-6), False), (39.5, False), (0.5, False), (1 + 5e-7, True)],
)
def test_a_share_is_so_many_units_but_for_its_rounding(units, is_whole):
    facts = load_catalogue()[V100]
    assert _whole_units(units * facts.mps_unit_percent, facts) == is_whole


def test_residents_whose_profiles_disagree_about_their_gpu_are_found_out():
    """No model says how two of them fare beside each other."""
    other = [
        profile.model_copy(
            update={"interference": profile.interference.model_copy(
                update={"gpu": profile.interference.gpu.model_copy(update={"idle_power_w": 1.0})}
            )}
        )
        if profile.model == "ssd" and profile.interference
        else profile
        for profile in shipped_profiles()
    ]  # fmt: skip
    said = [str(one) for one in check(PROBLEM, Plan.model_validate(PLAN), other)]
    assert any("its residents' profiles have different coefficients of the GPU" in one for one in said)
    assert not any("different coefficients" in str(one) for one in violations(unchanged))


def test_of_a_percentile_a_share_is_promised_what_holds_there_and_says_so():
    """As on an instance: null, another rate and more than holds are found out; nothing is held."""
    one = {"model": "resnet50", "rate_rps": 100, "slo_ms": 100}
    problem = problem_of([one], fleet=FLEET, latency="percentile")
    plan = solve(problem).model_dump(mode="json")
    holds = first_served(plan)["promised_rps"]
    assert violations(unchanged, problem, plan) == []
    for promised in (None, holds * 1.001, 10 * holds):
        found = [str(one) for one in violations(set_first(promised_rps=promised), problem, plan)]
        assert any(f"states promised_rps {promised}; what it is promised holds up to" in one for one in found), found
    assert violations(set_first(promised_rps=(100 + holds) / 2), problem, plan) == []
    held = [str(one) for one in violations(set_first(dispatch_after_ms=5.0), problem, plan)]
    assert any("states dispatch_after_ms 5.0; expected null" in one for one in held)
    (late,) = [one for one in violations(set_first(rate_rps=1.5 * holds), problem, plan) if one.excess is not None]
    assert late.excess == pytest.approx(0.5, rel=1e-3)


def first_served(plan):
    return plan["gpus"][0]["partitions"][0]["serves"][0]


def set_first(**fields):
    return lambda plan: first_served(plan).update(fields)


@pytest.mark.parametrize(("shadow", "shares", "over"), [(0, (60, 40), 0), (0, (60, 50), 0.1), (20, (60, 30), 0.125)])
def test_shares_are_of_what_standby_processes_leave(shadow, shares, over):
    said = list(totals(shadow, shares, memory_mib=10))
    assert [one.excess for one in said] == ([pytest.approx(over)] if over else [])
    assert all(("standby" in one.message) == (shadow > 0) for one in said)


@pytest.mark.parametrize(
    ("shadow", "own_mib", "fitted_mib", "words"),
    [
        (0, 50, 70, None),
        (0, 51, 10, "needs 102 MiB of memory; it has 100 MiB"),
        (0, None, 51, "needs 102 MiB of memory; it has 100 MiB"),
        (0, None, None, None),
        (10, 25, 70, None),
        (10, 26, 10, "needs 104 MiB of memory; it has 100 MiB"),
    ],
)
def test_memory_is_of_every_process_and_its_standby_as_problem_or_profile_says(shadow, own_mib, fitted_mib, words):
    said = [one.message for one in totals(shadow, (10, 10), own_mib, fitted_mib)]
    assert said == ([words] if words else [])


@pytest.mark.parametrize(("shadow", "number", "clients"), [(0, 4, None), (0, 5, 5), (10, 2, None), (10, 3, 6)])
def test_clients_are_all_processes_and_their_standby(shadow, number, clients):
    said = [one.message for one in totals(shadow, (10,) * number, 1)]
    assert said == ([f"has {clients} MPS clients; at most 4 are allowed"] if clients else [])


def totals(shadow, shares, memory_mib, fitted_mib=None):
    """Returns what is wrong with residents together on a GPU with 100 MiB and at most 4 clients."""
    problem = SimpleNamespace(settings=SimpleNamespace(shadow_percent=shadow))
    gpu = SimpleNamespace(id="x", partitions=[SimpleNamespace(sm_percent=share) for share in shares])
    facts = SimpleNamespace(memory_mib=100, mps_client_limit=lambda _: 4)
    owners = [SimpleNamespace(memory_mib=memory_mib)] * len(shares)
    return _wrong_totals(problem, gpu, facts, owners, [SimpleNamespace(memory_mib=fitted_mib)] * len(shares))


@pytest.mark.parametrize(
    ("own_mib", "fitted_mib", "due"), [(10.0, 20.0, 10.0), (None, 20.0, 20.0), (10.0, None, 10.0), (None, None, None)]
)
def test_the_memory_of_a_share_is_the_problems_or_else_the_profiles(own_mib, fitted_mib, due):
    fitted = load_fitted().model_copy(update={"memory_mib": fitted_mib})
    owner = SimpleNamespace(memory_mib=own_mib)
    for stated in (None, 10.0, 20.0):
        served = SimpleNamespace(basis="fitted", memory_mib=stated)
        said = [one.message for one in _wrong_origin("x", served, owner, fitted)]
        expected = [] if stated == due else [f"states {stated} MiB of memory; problem and profile give {due}"]
        assert said == expected


def load_fitted():
    return next(one for one in shipped_profiles() if one.interference and one.gpu == V100).interference


@pytest.mark.parametrize(("batch_sizes", "wrong"), [(None, False), ("its own", False), ((31,), True)])
def test_a_batch_that_the_problem_allows_is_not_complained_of(batch_sizes, wrong):
    served = first(PLAN)["serves"][0]
    allowed = (served["batch"],) if batch_sizes == "its own" else batch_sizes
    workloads = tuple(
        one.model_copy(update={"batch_sizes": allowed}) if one.name == served["workload"] else one
        for one in PROBLEM.workloads
    )
    problem = PROBLEM.model_copy(update={"workloads": workloads})
    said = [str(one) for one in violations(unchanged, problem, replanned(PLAN, problem))]
    assert any("is not allowed for" in one for one in said) == wrong, said


@pytest.mark.parametrize(
    ("together_rps", "rate_rps", "excess"), [(100.0, 150.0, 0.5), (100.0, 100.0, None), (0.0, 5.0, NOT_AT_ANY_RATE)]
)
def test_a_share_that_gets_more_than_it_is_promised_beside_others_says_by_how_much(together_rps, rate_rps, excess):
    problem = problem_of([{"model": "resnet50", "rate_rps": 100, "slo_ms": 100}], fleet=FLEET, latency="percentile")
    served = SimpleNamespace(
        workload="w0", batch=1, rate_rps=rate_rps, promised_rps=together_rps, dispatch_after_ms=None
    )
    said = list(_broken_promise(problem, "x", problem.workloads[0], served, 5.0, 200.0, together_rps))
    assert [one.excess for one in said] == ([] if excess is None else [pytest.approx(excess)])


def test_what_a_share_is_promised_is_asked_of_one_process_with_all_of_its_services_rate(monkeypatch):
    settings = {"latency": "percentile", "quantile": 0.95, "headroom": 0.5}
    problem = problem_of([{"model": "resnet50", "rate_rps": 100, "slo_ms": 90}], fleet=FLEET, **settings)
    asked = []
    monkeypatch.setattr(shares_module, "promised_rps", lambda _, on, stated: asked.append((on, stated)) or stated)
    served = SimpleNamespace(workload="w0", batch=4, rate_rps=50.0, promised_rps=60.0, dispatch_after_ms=None)
    for quantile in (None, 0.9):
        owner = problem.workloads[0].model_copy(update={"slo_quantile": quantile})
        assert list(_broken_promise(problem, "x", owner, served, 5.0, 200.0, None)) == []
        on, stated = asked.pop()
        assert [float(getattr(on, field.name)[0]) for field in fields(on)] == [4, 1, 5, 200, 90, quantile or 0.95, 150]
        assert stated == 60.0


@pytest.mark.parametrize(
    ("due", "stated", "words"),
    [
        (np.nan, None, None),
        (np.nan, 5.0, "states dispatch_after_ms 5.0; expected null"),
        (5.0, 5.0, None),
        (5.0, 6.0, "states dispatch_after_ms 6.0; expected 5 ms"),
        (5.0, None, "states dispatch_after_ms None; expected 5 ms"),
    ],
)
def test_batches_of_a_share_are_held_as_long_as_the_promise_takes(monkeypatch, due, stated, words):
    problem = problem_of([{"model": "resnet50", "rate_rps": 100, "slo_ms": 90}], fleet=FLEET, latency="percentile")
    monkeypatch.setattr(shares_module, "held_ms", lambda *_: np.array([due]))
    served = SimpleNamespace(workload="w0", batch=4, rate_rps=50.0, promised_rps=60.0, dispatch_after_ms=stated)
    said = [one.message for one in _broken_promise(problem, "x", problem.workloads[0], served, 5.0, 200.0, 60.0)]
    assert said == ([words] if words else [])


@pytest.mark.parametrize(
    ("latency_ms", "capacity_rps", "excesses"),
    [(45.0, 100.0, []), (60.0, 100.0, [1 / 3]), (45.0, 80.0, [0.25]), (90.0, 50.0, [1.0, 1.0])],
)
def test_by_execution_a_late_or_overloaded_share_says_by_how_much(latency_ms, capacity_rps, excesses):
    """An SLO of 90 ms leaves 45, and 100 requests/s come."""
    problem = problem_of([{"model": "resnet50", "rate_rps": 100, "slo_ms": 90}], fleet=FLEET)
    served = SimpleNamespace(workload="w0", rate_rps=100.0, promised_rps=None, dispatch_after_ms=None)
    said = list(_broken_slo(problem, "x", problem.workloads[0], served, latency_ms, capacity_rps))
    assert [(one.workload, one.excess) for one in said] == [("w0", pytest.approx(one)) for one in excesses]
