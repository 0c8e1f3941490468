"""CPUs by their domains: what becomes of plans as values of the variables, and of values as plans."""

from collections import Counter
from random import Random

import pytest
from oracles.cores_oracle import empty_cpus, fits
from ortools.math_opt.python import mathopt
from problems.cpu_draws import TREES, allowed, small_cpu

from sliceplan.solver.exact.mig.domain_cuts import DomainCuts
from sliceplan.solver.exact.mig.patterns import Pattern
from sliceplan.solver.model.core_partitions import CoreTree
from sliceplan.solver.model.sharing import cores_in_words, cores_named
from sliceplan.solver.performance.core_divisions import domain_cuts, maximal_divisions, outer_divisions
from sliceplan.solver.performance.fleet_types import FleetType


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_plan_is_values_and_the_values_are_a_plan_with_no_less(tree, seed):
    draw, known, cpu = Random(seed), CoreTree(*tree), small_cpu(tree)
    sizes = tuple(draw.sample(allowed(tree), draw.randint(1, len(allowed(tree)))))
    entry = FleetType(cpu, 1.0, None, frozenset({"cores"}))
    model = mathopt.Model()
    variables = DomainCuts(model, entry, outer_divisions(known, sizes), domain_cuts(known, sizes), "0")
    taken = [
        (tuple(sorted(draw.sample(one, draw.randint(0, len(one))), reverse=True)), draw.randint(1, 3))
        for one in draw.choices(maximal_divisions(known, sizes), k=3)
    ]
    plan = [(Pattern(cpu.name, tuple(map(cores_in_words, cores))), times) for cores, times in taken]
    values = variables.values([*plan, (Pattern("another", ("7 cores",)), 2)])
    (row,) = model.linear_constraints()
    assert sum(term.coefficient * values[term.variable] for term in row.terms()) <= row.upper_bound
    assert all(one.lower_bound <= value <= one.upper_bound for one, value in values.items())
    # No domain is cut of a CPU that is not there.
    assert row.upper_bound == 0
    assert any(term.coefficient > 0 for term in row.terms())
    wanted = sum((Counter({size: n * cores.count(size) for size in cores}) for cores, n in taken), Counter())
    held = {size: mathopt.evaluate_expression(mathopt.LinearSum(variables.partitions(size)), values) for size in sizes}
    assert all(held[size] >= number for size, number in wanted.items())
    cpus = sum(n for _, n in taken)
    assert sum(values[u] for _, u in variables.gpus) == cpus
    again = variables.patterns(values)
    assert sum(n for _, n in again) == cpus
    found = Counter()
    for pattern, n in again:
        cores = tuple(map(cores_named, pattern.profiles))
        assert list(cores) == sorted(cores, reverse=True)
        assert fits(empty_cpus(tree, 1), cores, tree[0])
        found += Counter({size: n * cores.count(size) for size in set(cores)})
    assert found == Counter({size: number for size, number in held.items() if number})


def test_what_does_not_fit_is_no_value():
    model, known = mathopt.Model(), CoreTree(4, 2, 1)
    entry = FleetType(small_cpu((4, 2, 1)), 1.0, None, frozenset({"cores"}))
    variables = DomainCuts(model, entry, outer_divisions(known, (3, 8)), domain_cuts(known, (3, 8)), "0")
    assert variables.values([(Pattern(entry.gpu.name, ("3 cores", "3 cores", "3 cores")), 1)]) is None
