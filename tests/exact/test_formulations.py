"""The formulations against brute force, and what their bounds are worth before the proof."""

from itertools import combinations_with_replacement, product

import pytest
from hypothesis import example, given, settings
from problems.instances import problem_of, problems, random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import placement_rules, roomiest_layout
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

PROFILES = ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
RULES = placement_rules(load_catalogue()["A100-80GB"].mig, PROFILES)
FITTING = [
    names
    for count in range(1, 8)
    for names in combinations_with_replacement(PROFILES, count)
    if roomiest_layout(RULES, names) is not None
]


def one_gpu_is_enough(resolved):
    """Tries every multiset that fits and every assignment of its instances to the workloads."""
    size_of = {size.mig.name: k for k, size in enumerate(resolved.sizes)}
    workloads = range(len(resolved.required_rps))

    def serves(names, owners):
        for w, workload in enumerate(resolved.problem.workloads):
            rates = [
                resolved.capacity_rps[w, size_of[name]] for name, owner in zip(names, owners, strict=True) if owner == w
            ]
            usable = [rate for rate in rates if rate > 0]
            if sum(usable) < resolved.required_rps[w] or len(usable) < workload.min_replicas:
                return False
        return True

    return any(serves(names, owners) for names in FITTING for owners in product(workloads, repeat=len(names)))


def test_37_multisets_fit_on_an_a100():
    assert len(FITTING) == 37


@settings(max_examples=30, deadline=None)
@given(problems(max_workloads=2))
@example(
    problem_of(
        [
            {"model": "bert", "rate_rps": 1, "slo_ms": 34},
            {"model": "bert", "rate_rps": 1, "slo_ms": 34, "min_replicas": 2, "memory_mib": 9729},
        ],
        slo_fraction=0.4,
        max_processes=1,
    )
)
@pytest.mark.parametrize("planner", ["exact", "exact-pulp"])
def test_exact_uses_one_gpu_if_and_only_if_brute_force_finds_a_way(planner, problem):
    """Property: against enumeration of every cut and every assignment of one GPU."""
    resolved = resolve(problem, shipped_profiles())
    plan = solve(problem, planner)
    if not unservable(resolved) and plan.status is Status.OPTIMAL:
        assert (plan.gpus_used == 1) == one_gpu_is_enough(resolved)


def test_a_bound_before_the_proof_is_below_the_optimum():
    resolved = resolve(random_problem(150, seed=4), shipped_profiles())
    proven = solve_cutting_stock(resolved, time_limit_s=60)
    assert proven.stopped == "proved"
    bounds, limit_s = [], 0.05
    while not bounds:  # ends at the latest with the proof, whose bound is known
        early = solve_cutting_stock(resolved, time_limit_s=limit_s)
        bounds += [] if early.cost_bound is None else [early.cost_bound]
        limit_s *= 2
    assert bounds[0] <= proven.cost_bound + 1e-6


def test_bound_is_proven_for_prices_with_no_common_divisor():
    h100 = [p.model_copy(update={"gpu": "H100-80GB-SXM"}) for p in shipped_profiles()]
    fleet = [
        {"gpu": "A100-80GB", "count": 2, "price_per_hour": 3.430881},
        {"gpu": "H100-80GB-SXM", "price_per_hour": 6.880013},
    ]
    workloads = [{"model": model, "rate_rps": 900, "slo_ms": 200} for model in ("vgg16", "resnet50", "densenet121")]
    problem = problem_of(workloads, fleet=fleet)
    exact, other = (solve(problem, name, profiles=[*shipped_profiles(), *h100]) for name in ("exact", "exact-pulp"))
    assert exact.status is other.status is Status.OPTIMAL
    assert exact.cost_per_hour == pytest.approx(other.cost_per_hour)
    assert exact.gap == 0
