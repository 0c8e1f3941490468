"""`check` looks at all partitions at once, and says word for word what looking at one after the other says."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.check_scalar import wrong_gpus_and_rates
from problems.instances import random_problem
from problems.shop import mixed
from support.solved import Solved

from sliceplan.solver.check.fleet import used_gpus, wrong_fleet
from sliceplan.solver.check.partitions import _broken_promises, _wrong_hold
from sliceplan.solver.check.plan import check
from sliceplan.solver.check.totals import wrong_totals
from sliceplan.solver.check.violation import NOT_AT_ANY_RATE
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.plan_columns import plan_columns
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan

PROBLEMS = [random_problem(8, seed=5), mixed()]
PLANS = Solved(*PROBLEMS)

SERVED = {
    "workload": st.sampled_from(["nobody", "w0", "w1", *(one.name for one in PROBLEMS[1].workloads)]),
    "batch": st.one_of(st.integers(1, 200), st.just(10**30)),
    "processes": st.one_of(st.integers(1, 60), st.just(10**30)),
    "latency_ms": st.floats(0.001, 1e6),
    "capacity_rps": st.floats(0.001, 1e6),
    "rate_rps": st.floats(0, 1e6),
    "basis": st.sampled_from(["measured", "fitted", "estimated"]),
    "causes_ms": st.sampled_from([None, {}, {"active": 1.0}]),
    "memory_mib": st.sampled_from([None, 500.0]),
}
PARTITION = {
    "mig_profile": st.sampled_from([None, "1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb", "1g.10gb+me", "9g.90gb"]),
    "start": st.one_of(st.none(), st.integers(0, 8)),
    "sm_percent": st.sampled_from([None, 2.5, 50.0, 100.0]),
}
GPU = {
    "gpu": st.sampled_from(["A100-80GB", "T4", "V100-SXM2-16GB", "no-such-gpu"]),
    "sharing": st.sampled_from(["mig", "exclusive", "mps"]),
}
WORKLOAD = {
    "gpus": st.sampled_from([("T4",), ("A100-80GB",)]),
    "batch_sizes": st.sampled_from([(1,), (4, 8, 16, 32)]),
    "memory_mib": st.sampled_from([100.0, 30_000.0]),
    "slo_ms": st.sampled_from([20.0, 150.0]),
    "rate_rps": st.floats(1, 1000),
    "min_replicas": st.integers(1, 4),
    "max_replicas": st.integers(1, 4),
    "model": st.sampled_from(["bert", "vgg19"]),
}


def changed(draw, record, fields):
    name = draw(st.sampled_from(sorted(fields)))
    record[name] = draw(fields[name])


def damaged(draw, plan):
    """Changes a few fields of the plan, or repeats or removes what a partition serves, or a partition."""
    for _ in range(draw(st.integers(1, 5))):
        gpu = draw(st.sampled_from(plan["gpus"]))
        partition = draw(st.sampled_from(gpu["partitions"]))
        match draw(st.sampled_from(["served", "served", "served", "partition", "gpu", "again", "nothing", "twin"])):
            case "served" if partition["serves"]:
                changed(draw, partition["serves"][0], SERVED)
            case "partition":
                changed(draw, partition, PARTITION)
            case "gpu":
                changed(draw, gpu, GPU)
            case "again":
                partition["serves"] *= 2
            case "nothing" if gpu["sharing"] != "mps":
                partition["serves"] = []
            case "twin":
                gpu["partitions"].append(dict(partition))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_plan_is_judged_as_by_the_plain_version(data):
    number = data.draw(st.sampled_from(range(len(PROBLEMS))))
    problem, plan = PROBLEMS[number], json.loads(PLANS[PROBLEMS[number].name])
    if data.draw(st.booleans()):
        workloads = list(problem.workloads)
        at = data.draw(st.integers(0, len(workloads) - 1))
        name = data.draw(st.sampled_from(sorted(WORKLOAD)))
        workloads[at] = workloads[at].model_copy(update={name: data.draw(WORKLOAD[name])})
        problem = problem.model_copy(update={"workloads": tuple(workloads)})
        plan["problem"] = reference(problem).model_dump()
    damaged(data.draw, plan)
    wrong = Plan.model_validate_json(json.dumps(plan))
    columns = plan_columns(problem, wrong)
    around = [*wrong_totals(problem, wrong, used_gpus(wrong, columns)), *wrong_fleet(problem, wrong, columns)]
    profiles = shipped_profiles()
    mps = {gpu.id for gpu in wrong.gpus if gpu.sharing == "mps"}

    def said(violations):
        """Without what other tests judge: GPUs under MPS, metrics, warnings, prices."""
        texts = [str(one) for one in violations if one.where.split(" ")[0] not in mps]
        return [text for text in texts if ": metrics" not in text and not text.startswith("plan: warnings ")]

    expected = [*around, *wrong_gpus_and_rates(problem, wrong, profiles)]
    assert said(check(problem, wrong, profiles)) == said(expected)


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_columns_of_another_plan_or_problem_are_not_used(number):
    problem, plan = PROBLEMS[number], Plan.model_validate_json(PLANS[PROBLEMS[number].name])
    columns = plan_columns(problem, plan)
    assert plan_columns(problem, plan, columns) is columns
    assert check(problem, plan, shipped_profiles(), columns) == []
    worse = json.loads(PLANS[PROBLEMS[number].name])
    worse["gpus"][0]["partitions"][0]["serves"][0]["latency_ms"] /= 2
    found = check(problem, Plan.model_validate_json(json.dumps(worse)), shipped_profiles(), columns)
    assert any("ms; the" in violation.message for violation in found)


@pytest.mark.parametrize(
    ("stated", "due", "words"),
    [
        (None, np.nan, None),
        (5.0, 5.0, None),
        (5.0, np.nan, "states dispatch_after_ms 5; expected null"),
        (None, 5.0, "states dispatch_after_ms null; expected 5 ms"),
        (6.0, 5.0, "states dispatch_after_ms 6; expected 5 ms"),
    ],
)
def test_batches_are_held_as_long_as_the_promise_takes_and_no_longer(stated, due, words):
    columns = SimpleNamespace(
        workload=np.array([0]),
        record=np.array([0]),
        stated=lambda _: [stated],
        served=lambda _: SimpleNamespace(dispatch_after_ms=stated),
    )
    points = SimpleNamespace(exist=np.array([True]))
    wrong, message = _wrong_hold(columns, np.array([0]), points, np.array([due]))
    assert wrong.tolist() == [words is not None]
    assert words is None or message(0) == words


@pytest.mark.parametrize(
    ("rate_rps", "promised_rps", "excess"),
    [(150.0, 100.0, 0.5), (100.0, 100.0, None), (100.0, np.nan, None), (5.0, 0.0, NOT_AT_ANY_RATE)],
)
def test_a_rate_above_what_is_promised_says_by_how_much(rate_rps, promised_rps, excess):
    zero = np.array([0])
    columns = SimpleNamespace(
        rate_rps=np.array([rate_rps]), workload=zero, partition=zero, partitions=[SimpleNamespace(start=3)]
    )
    points = SimpleNamespace(latency_ms=np.array([7.0]))
    found = list(_broken_promises(PROBLEMS[0], columns, zero, points, np.array([promised_rps])))
    assert [one.excess for _, one in found] == ([] if excess is None else [pytest.approx(excess)])
    assert all(one.workload == PROBLEMS[0].workloads[0].name for _, one in found)
    assert all(one.message.startswith(f"at 3 takes {rate_rps:g} req/s; ") for _, one in found)
