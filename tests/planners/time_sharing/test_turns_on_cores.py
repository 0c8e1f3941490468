"""Services that take turns on cores of CPUs: against every way to group few services, each with one replica."""

from itertools import product
from math import ceil

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.api import check, solve
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.turns_at_hand import paid_by_parts
from sliceplan.solver.planners.registry import planner_named

CPU, SIZES = "Graviton3", (32, 64)
"""64 cores with one L3 cache: one partition, or two."""


def drawn(seed, *, services=4, turns="fixed", memory_mib=None, **settings):
    """Returns services whose models were measured with a batch of 1, their profiles, and times by service and size."""
    random = np.random.default_rng(seed)
    ms = random.uniform(2, 6, services)[:, None] * np.array([1.7, 1.0])
    ms = ms.round(3)
    workloads = [
        {"model": f"m{w}", "rate_rps": float(random.integers(5, 90)), "slo_ms": float(random.integers(20, 60))}
        | {"max_replicas": 1, "memory_mib": memory_mib}
        for w in range(services)
    ]
    profiles = [
        Profile.model_validate(
            {
                "model": f"m{w}",
                "cpu": CPU,
                "provenance": {"source": "drawn", "method": "at random"},
                "points": [
                    {"cores": cores, "batch": 1, "processes": 1, "latency_ms": own, "throughput_rps": 1000 / own}
                    for cores, own in zip(SIZES, ms[w].tolist(), strict=True)
                ],
            }
        )
        for w in range(services)
    ]
    fleet = [{"cpu": CPU, "price_per_hour": 1.0}]
    return problem_of(workloads, fleet=fleet, turns=turns, **settings), profiles, ms


def fewest_cpus(problem, ms):
    """Returns how many CPUs the best grouping takes, `turns: fixed`; None: none holds."""
    best = None
    number = len(problem.workloads)
    for groups in product(range(number), repeat=number):
        if any(one > 1 + max(groups[:at], default=-1) for at, one in enumerate(groups)):
            continue  # the same grouping by other numbers
        taken = [0, 0]
        for group in set(groups):
            own = [w for w in range(number) if groups[w] == group]
            fits = [k for k in range(2) if holds([problem.workloads[w] for w in own], ms[own, k])]
            if not fits:
                break
            taken[fits[0]] += 1
        else:
            cpus = taken[1] + ceil(taken[0] / 2)
            best = cpus if best is None else min(best, cpus)
    return best


def holds(workloads, ms):
    """Says whether a round of one batch of 1 each carries all rates in time; a service alone waits for half its SLO."""
    length = ms.sum()
    return all(
        one.rate_rps <= 1000 / length + 1e-9 and length + own <= one.slo_ms + 1e-9
        for one, own in zip(workloads, ms, strict=True)
    )


def test_no_plan_is_below_the_best_grouping_and_no_bound_above_it():
    proven, in_turn = 0, 0
    for seed in range(12):
        problem, profiles, ms = drawn(seed)
        best = fewest_cpus(problem, ms)
        plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=10)
        assert paid_by_parts(resolve(problem, profiles)) <= best + 1e-9, seed
        assert plan.bound.cost_per_hour <= best + 1e-9, seed
        assert plan.gpus_used >= best, seed
        assert check(problem, plan, profiles) == [], seed
        if plan.status is Status.OPTIMAL:
            proven += 1
            assert plan.gpus_used == best, seed
        in_turn += sum(len(one.serves) > 1 for gpu in plan.gpus for one in gpu.partitions)
        assert all(one.cores in SIZES for gpu in plan.gpus for one in gpu.partitions)
    assert proven >= 3
    assert in_turn >= 5


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_memory_is_that_of_the_cores_and_models_of_a_round_are_there_together(turns):
    """A Graviton3 has 128 GiB: two models of 50 GiB share it, or all of it, and not one half of it."""
    problem, profiles, _ = drawn(1, services=2, turns=turns, memory_mib=50 * 1024)
    plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=10)
    assert check(problem, plan, profiles) == []
    assert all(len(one.serves) == 1 for gpu in plan.gpus for one in gpu.partitions if one.cores == 32)
    problem, profiles, _ = drawn(0, turns=turns, memory_mib=20 * 1024)
    plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=10)
    assert any(len(one.serves) > 1 for gpu in plan.gpus for one in gpu.partitions)
    assert "MiB of memory together; it has 65536 MiB" in said_of(problem, plan, profiles, memory_mib=70.0 * 1024)


def said_of(problem, plan, profiles, **changes):
    """Returns what `check` says of a plan of a problem whose services are others."""
    workloads = tuple(one.model_copy(update=changes) for one in problem.workloads)
    changed = problem.model_copy(update={"workloads": workloads})
    return " ".join(map(str, check(changed, plan.model_copy(update={"problem": reference(changed)}), profiles)))


def test_what_a_round_on_cores_states_is_looked_at():
    problem, profiles, ms = drawn(0)
    plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=10)
    (gpu,) = plan.gpus
    at, own = next((at, one) for at, one in enumerate(gpu.partitions) if len(one.serves) > 1)
    assert [round(one.latency_ms, 3) for one in own.serves] == [
        float(ms[int(one.workload[1:]), SIZES.index(own.cores)]) for one in own.serves
    ]
    assert "SLO" in said_of(problem, plan, profiles, slo_ms=own.duty_cycle_ms)

    def with_part(**changes):
        parts = [*gpu.partitions[:at], own.model_copy(update=changes), *gpu.partitions[at + 1 :]]
        return plan.model_copy(update={"gpus": (gpu.model_copy(update={"partitions": tuple(parts)}),)})

    faster = own.serves[0].model_copy(update={"latency_ms": own.serves[0].latency_ms / 2})
    assert "the profile gives" in said_of(problem, with_part(serves=(faster, *own.serves[1:])), profiles)
    assert said_of(problem, with_part(duty_cycle_ms=own.duty_cycle_ms / 2), profiles)
    assert said_of(problem, plan, profiles) == ""


def test_partitions_that_are_kept_free_are_refused_beside_cpus():
    problem, profiles, _ = drawn(1, spare_services=1, spare_rate=0.5)
    reasons = planner_named("exact-turns").refuses(resolve(problem, profiles))
    assert any("on GPUs only; the fleet has the CPUs Graviton3" in one for one in reasons)
