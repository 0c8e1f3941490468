"""The program of intervals with partitions ruled out that carry too little, against every choice of partitions."""

from itertools import product
from random import Random

import pulp
import pytest
from problems.instances import problem_of

from sliceplan.solver.exact.cross_check.interval_packing import _run_cbc
from sliceplan.solver.exact.cross_check.interval_program import Short, interval_program
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


@pytest.mark.parametrize("seed", range(5))
def test_only_partitions_with_no_more_of_any_size_than_some_that_are_too_few_are_ruled_out(seed):
    """Property: the least of a drawn cost is that of all choices that are left."""
    draw = Random(seed)
    workload = {"model": "resnet50", "rate_rps": draw.choice([700, 1500]), "slo_ms": 200}
    resolved = resolve(problem_of([workload]), shipped_profiles())
    rate, capacity = float(resolved.required_rps[0]), resolved.capacity_rps[0]
    sizes = [k for k in range(len(resolved.sizes)) if capacity[k] > 0]
    plain = interval_program(resolved, [[None]])
    most = {k: int(plain.served[0, k].upBound) for k in sizes}
    every = [dict(zip(sizes, one, strict=True)) for one in product(*(range(most[k] + 1) for k in sizes))]
    enough = [one for one in every if sum(min(capacity[k] / rate, 1.0) * n for k, n in one.items()) >= 1]
    short = [Short(0, draw.choice(enough)) for _ in range(2)]
    usd = {k: draw.uniform(1, 3) for k in sizes}
    left = [one for one in enough if not any(all(one[k] <= few.counts[k] for k in sizes) for few in short)]
    model = interval_program(resolved, [[None]], short)
    model.program.setObjective(pulp.lpSum(usd[k] * model.served[0, k] for k in sizes))
    status = _run_cbc(model.program, 60.0)
    if not left:
        assert status == pulp.LpSolutionInfeasible
        return
    least = min(sum(usd[k] * n for k, n in one.items()) for one in left)
    assert pulp.value(model.program.objective) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize(("least", "most", "served"), [(1, None, 1), (3, None, 3), (2, 2, 2)])
def test_a_workload_has_its_least_replicas_though_fewer_carry_its_rate(least, most, served):
    limits = {"min_replicas": least, "max_replicas": most}
    workload = {"model": "resnet50", "rate_rps": 1, "slo_ms": 200} | {k: v for k, v in limits.items() if v is not None}
    resolved = resolve(problem_of([workload]), shipped_profiles())
    model = interval_program(resolved, [[None]])
    model.program.setObjective(pulp.lpSum(model.served.values()))
    assert _run_cbc(model.program, 60.0) == pulp.LpSolutionOptimal
    assert pulp.value(model.program.objective) == pytest.approx(served)


@pytest.mark.parametrize(("fleets", "missing"), [([[1]], 2), ([[1], [2]], 1), ([[3], [1]], 0), ([[None]], 0)])
def test_gpus_are_those_of_one_fleet_and_never_of_two_together(fleets, missing):
    workload = {"model": "resnet50", "rate_rps": 1, "slo_ms": 200, "min_replicas": 15}
    resolved = resolve(problem_of([workload]), shipped_profiles())
    model = interval_program(resolved, fleets)
    # Fifteen partitions, of which a GPU has seven at most.
    model.program.setObjective(pulp.lpSum(model.missing))
    assert _run_cbc(model.program, 60.0) == pulp.LpSolutionOptimal
    assert sum(variable.value() for variable in model.missing) == pytest.approx(missing)
