"""The space of smooth prices."""

import numpy as np
from problems.igniter_instances import random_mps_problem

from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.exact.surroundings.smooth_prices import price_space
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def test_services_that_ask_for_the_same_have_the_same_price_and_others_need_not():
    problem = random_mps_problem(20, 3)
    twin = problem.workloads[4].model_copy(
        update={"id": "twin", "rate_rps": problem.workloads[4].rate_rps * (1 + 1e-9)}
    )
    problem = problem.model_copy(update={"workloads": (*problem.workloads, twin)})
    resolved = resolve(problem, shipped_profiles())
    customers = customers_of(resolved, mps_items(resolved, parts=False))
    types = customers.types
    space = price_space(len(customers.wanted), types, [np.array([320.0, 30.0]) for _ in types])
    rows, dimensions = space.shape
    assert rows == len(customers.wanted) == 21
    assert 5 < dimensions <= 21
    assert np.allclose(space.T @ space, np.eye(dimensions), atol=1e-9)
    assert np.allclose(space[4], space[20], atol=1e-6)
    apart = np.linalg.norm(space[:, None] - space[None, :], axis=2)
    assert np.median(apart) > 0.1
