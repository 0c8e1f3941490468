"""Of the plans of the least cost that which takes the fewest slices, by another program."""

import numpy as np
from problems.instances import random_problem, second_type
from scipy.optimize import LinearConstraint, milp

from sliceplan.solver.exact.mig.cutting_stock import slices_of, solve_cutting_stock
from sliceplan.solver.exact.mig.patterns import counts_of, patterns_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

PROFILES = [*shipped_profiles(), *second_type()]


def fewest_slices(resolved, slices, most_cost):
    """Returns the fewest slices of partitions that carry all rates on GPUs of so much cost."""
    workloads, sizes = resolved.capacity_rps.shape
    cuts = [
        (entry.price_per_hour, counts_of(resolved, pattern))
        for entry in resolved.fleet
        for pattern in patterns_of(resolved, entry)
    ]
    nothing = np.zeros((workloads, len(cuts)))
    part = np.minimum(resolved.capacity_rps / resolved.required_rps[:, None], 1.0)
    rates = np.hstack([np.kron(np.eye(workloads), np.ones(sizes)) * part.ravel(), nothing])
    room = np.hstack([np.tile(np.eye(sizes), workloads), -np.array([counts for _, counts in cuts]).T])
    cost = np.concatenate([np.zeros(workloads * sizes), [usd for usd, _ in cuts]])
    found = milp(
        np.concatenate([np.tile(slices, workloads), np.zeros(len(cuts))]),
        integrality=np.ones(len(cost)),
        constraints=[
            LinearConstraint(rates, 1 - 1e-9, np.inf),
            LinearConstraint(room, -np.inf, 0),
            LinearConstraint(cost[None, :], -np.inf, most_cost + 1e-6),
        ],
    )
    return round(found.fun)


def test_a_proven_plan_takes_the_fewest_slices_of_all_that_cost_as_much():
    """Property: and where fewest slices are not asked for, it costs no less."""
    fewer = 0
    for seed in (2, 4, 6, 7, 10, 11):
        resolved = resolve(random_problem(3, seed), PROFILES)
        slices = np.array([slices_of(resolved, size) for size in resolved.sizes])
        answer, other = (solve_cutting_stock(resolved, time_limit_s=10, fewest_slices=asked) for asked in (True, False))
        assert answer.stopped == other.stopped == "proved"
        assert answer.cost_bound == other.cost_bound
        taken, others = ((one.partitions @ slices).sum() for one in (answer, other))
        assert taken == fewest_slices(resolved, slices, answer.cost_bound), seed
        fewer += taken < others
    assert fewer >= 3
