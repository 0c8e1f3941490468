"""Plans of cut and of shared GPUs apart: they serve everybody, keep counts, and close what partitions do for less."""

import time

import numpy as np
import pytest
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import problem_of, random_problem

from sliceplan.solver.allocation.allocated import renumbered
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet import fleet_by_ways as module
from sliceplan.solver.exact.fleet import mixed_fleet
from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.exact.fleet.fleet_by_ways import plan_by_ways
from sliceplan.solver.exact.fleet.kept_limits import keeps_limits
from sliceplan.solver.exact.mps.packed_residents import packed_on_each
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.answers import of_known
from sliceplan.solver.planners.igniter import hosted

PROFILES = shipped_profiles()
SEARCH = Search(stopped="time_limit", time_limit_s=1, solver=None)


def both_ways(count, seed, *, split=False, a100s=None, v100s=None, latency="execution", rules="free"):
    """Returns services for A100s cut by MIG, and half as many for V100s under MPS or whole; some fit both."""
    services = [w.model_dump(mode="json") for w in random_problem(count, seed).workloads]
    shared = [w.model_dump(mode="json") for w in random_mps_problem(count // 2, seed).workloads]
    services += [
        {**w, "name": f"shared-{w['model']}-{n}", "max_replicas": None if split else 1} for n, w in enumerate(shared)
    ]
    fleet = [
        {"gpu": "A100-80GB", "sharing": ["mig"], "count": a100s},
        {"gpu": V100, "sharing": ["mps", "exclusive"], "count": v100s},
    ]
    return problem_of(services, fleet=fleet, latency=latency, mps_rules=rules)


def packed(part, _):
    return min(packed_on_each(part), key=len, default=None)


@pytest.mark.parametrize("rules", ["free", "igniter"])
@pytest.mark.parametrize("latency", ["execution", "percentile"])
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("counts", [{}, {"v100s": 5}, {"a100s": 14}])
@pytest.mark.usefixtures("limits_of_cpu")
def test_plans_hold_and_keep_the_counts(split, latency, counts, rules):
    problem = both_ways(24, 3, split=split, latency=latency, rules=rules, **counts)
    resolved = resolve(problem, PROFILES)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 10)
    better = []
    found = plan_by_ways(resolved, prices, None, packed, better.append, deadline=time.monotonic() + 10)
    if found is None:
        assert counts
        return
    assert found is better[-1]
    costs = [price_of(resolved, one) for one in better]
    assert costs == sorted(costs, reverse=True)
    for one in better:
        assert keeps_limits(resolved, one)
        plan = completed(problem, of_known(resolved, one, SEARCH), PROFILES)
        assert check(problem, plan, PROFILES) == []
    assert prices.bound <= costs[-1] * (1 + 1e-9)
    # No dearer plan takes the place of a known one.
    again = plan_by_ways(resolved, prices, found, packed, better.append, deadline=time.monotonic() + 10)
    assert again is None or price_of(resolved, again) < costs[-1]


@pytest.mark.usefixtures("limits_of_cpu")
def test_a_gpu_under_mps_is_closed_where_partitions_serve_its_residents_for_less(monkeypatch):
    """One resident each on V100s, which nobody would keep whom a slice serves; who can be there alone stays."""
    problem = both_ways(24, 3)
    resolved = resolve(problem, PROFILES)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 10)

    def lonely(part, _):
        apart = [packed(part.restricted_to([w]), None) for w in range(len(part.required_rps))]
        return [renumbered(gpu, [w]) for w, gpus in enumerate(apart) for gpu in gpus]

    monkeypatch.setattr(module, "_joined", lambda _, __, shared: shared)
    found = plan_by_ways(resolved, prices, None, lonely, lambda _: None, deadline=time.monotonic() + 10)
    served = {w for gpu in found if gpu.gpu == V100 for w in gpu.workloads}
    ways = module._ways(prices, np.array([1.15]))
    assert served < set(ways.residents.tolist())
    assert ways.by_partitions[list(served)].min() > 0.5 * resolved.fleet_by_name[V100].price_per_hour


def test_nothing_is_found_where_a_part_has_no_plan():
    problem = both_ways(8, 3)
    resolved = resolve(problem, PROFILES)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 10)
    late = time.monotonic() + 10
    assert plan_by_ways(resolved, prices, None, lambda *_: None, lambda _: None, deadline=late) is None
    assert plan_by_ways(resolved, prices, None, packed, lambda _: None, deadline=0.0) is None


@pytest.mark.usefixtures("limits_of_cpu")
def test_the_search_of_a_large_mixed_fleet_takes_such_a_plan(monkeypatch):
    asked = []

    def watched(resolved, prices, best, solve_shared, on_better, *, deadline):
        asked.append(price_of(resolved, best))
        found = plan_by_ways(resolved, prices, best, solve_shared, on_better, deadline=deadline)
        asked.append(None if found is None else price_of(resolved, found))
        return found

    monkeypatch.setattr(mixed_fleet, "plan_by_ways", watched)
    resolved = resolve(both_ways(160, 3), PROFILES)
    answer = mixed_fleet.solve_mixed_fleet(resolved, hosted, time_limit_s=6)
    first, found = asked
    assert found is not None
    assert found < first
    assert keeps_limits(resolved, answer.gpus)
    assert answer.cost_bound <= price_of(resolved, answer.gpus) <= found * (1 + 1e-9)
