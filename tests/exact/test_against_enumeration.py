"""
Random MIG problems over all of what a problem may state, against the enumeration of mig_oracle.py: no false claim.

More of them, outside the tests: `.venv/bin/python tests/exact/test_against_enumeration.py small 0 1000` (or `one`).
"""

import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pytest
from oracles.mig_oracle import LOOSE, TooManyError, least_cost, least_cost_of_one
from problems.mig_draws import one_workload, small_problem

from sliceplan.solver import api
from sliceplan.solver.model.plan import Status

DRAWS = {"small": small_problem, "one": one_workload}


def costs(kind, problem, profiles):
    """Returns the least cost, and that with a rounding part of each rate missing; None: there is no plan."""
    if kind == "one":
        return least_cost_of_one(problem, profiles), None
    return least_cost(problem, profiles), least_cost(problem, profiles, LOOSE)


def judged(kind, seed, time_limit_s=10.0):
    """Returns what is wrong with the answer to a drawn problem, or how it ended."""
    problem, profiles = DRAWS[kind](seed)
    strict, loose = costs(kind, problem, profiles)
    plan = api.solve(problem, profiles=profiles, time_limit_s=time_limit_s)
    if not plan.gpus:
        if plan.status is Status.INFEASIBLE and strict is not None:
            return f"false: infeasible, and {float(strict)} would do"
        return str(plan.status)
    price = {entry.gpu: Fraction(f"{entry.price_per_hour:.12g}") for entry in problem.fleet}
    cost = sum(price[gpu.gpu] for gpu in plan.gpus)
    if kind == "small" and (loose is None or cost < loose * (1 - Fraction(1, 10**9))):
        return f"false: a plan of {float(cost)}, and none is below {loose and float(loose)}"
    if strict is not None and (plan.bound.cost_per_hour or 0.0) > float(strict) * (1 + 1e-9):
        return f"false: the bound is {plan.bound.cost_per_hour}, and {float(strict)} would do"
    if plan.status is Status.OPTIMAL and strict is not None and cost > strict * (1 + Fraction(1, 10**9)):
        return f"false: {float(cost)} is optimal, and {float(strict)} would do"
    return str(plan.status)


@pytest.mark.parametrize("block", range(4))
def test_small_problems_are_answered_as_enumeration_does(block):
    ends = Counter()
    for seed in range(10 * block, 10 * block + 10):
        try:
            ends[judged("small", seed)] += 1
        except TooManyError:
            ends["too many"] += 1
    assert not [end for end in ends if end.startswith("false")], ends
    assert ends["optimal"] >= 4


@pytest.mark.parametrize("kind", DRAWS)
def test_what_is_at_hand_without_a_search_is_no_false_claim_either(kind):
    ends = Counter()
    for seed in range(20):
        try:
            ends[judged(kind, seed, time_limit_s=0.001)] += 1
        except TooManyError:
            ends["too many"] += 1
    assert not [end for end in ends if end.startswith("false")], ends


PROMISES = (
    {"latency": "percentile"},
    {"latency": "percentile", "quantile": 0.95, "dispatch": "random"},
    {"latency": "percentile", "quantile": 0.999, "process_queues": "own"},
    {"latency": "worst_case"},
    {"latency": "assembly"},
)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: "-".join(map(str, one.values())))
def test_small_problems_under_other_latency_rules_are_answered_as_enumeration_does(promise, monkeypatch):
    def promising(seed):
        problem, profiles = small_problem(seed)
        if any("mps" in entry.sharing for entry in problem.fleet):
            raise TooManyError("no rule but execution is planned under MPS")
        longer = tuple(one.model_copy(update={"slo_ms": 5 * one.slo_ms}) for one in problem.workloads)
        changed = {"settings": problem.settings.model_copy(update=promise), "workloads": longer}
        return problem.model_copy(update=changed), profiles

    monkeypatch.setitem(DRAWS, "small", promising)
    ends = Counter()
    for seed in range(11):
        try:
            ends[judged("small", seed)] += 1
        except TooManyError:
            ends["too many"] += 1
    assert not [end for end in ends if end.startswith("false")], ends
    assert ends["optimal"] >= 4


def test_one_workload_at_any_rate_costs_what_whole_gpus_carry():
    ends = Counter(judged("one", seed, time_limit_s=3.0) for seed in range(15))
    assert not [end for end in ends if end.startswith("false")], ends


if __name__ == "__main__":
    kind, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    every = Counter()
    for number in range(first, last):
        try:
            found = judged(kind, number)
        except TooManyError:
            found = "too many to enumerate"
        except Exception as error:
            found = f"false: {type(error).__name__}: {error}"
        every[found.split(":")[0]] += 1
        if found.startswith("false"):
            print(number, found, flush=True)
    print(dict(every))
