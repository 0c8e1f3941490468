"""Fleets of GPUs that are cut beside GPUs under MPS against trying everything: no claim is false at any time limit."""

from functools import cache

import pytest
from oracles.cut_beside_shared_oracle import CutBesideShared
from oracles.mps_oracle import LOOSE, STRICT, TooLargeError
from problems.cut_beside_shared_draws import beside_cuts
from problems.mps_draws import small_gpus

from sliceplan.solver import api
from sliceplan.solver.model.plan import Status

ENOUGH = 1e12
"""USD per hour that no plan costs."""


def false_claims(plan, strict, loose):
    """Yields what is wrong; `strict`, `loose`: least cost of a little more and of a little less than the rates."""
    bound, cost = plan.bound.cost_per_hour, plan.cost_per_hour
    if strict is not None:
        if plan.status is Status.INFEASIBLE:
            yield f"infeasible, and {strict} would do"
        if bound is not None and bound > strict * (1 + 1e-9):
            yield f"the bound is {bound}, and {strict} would do"
        if plan.status is Status.OPTIMAL and cost > strict * (1 + 1e-9):
            yield f"{cost} is optimal, and {strict} would do"
    if plan.gpus and (loose is None or cost < loose * (1 - 1e-9)):
        yield f"a plan of {cost}, and none is below {loose}"


@cache
def least_costs(seed):
    """Returns the least cost of a little more and of a little less than a problem's rates."""
    problem, profiles = beside_cuts(seed)
    return tuple(CutBesideShared(problem, profiles, over).cheapest(ENOUGH) for over in (STRICT, LOOSE))


@pytest.mark.parametrize("time_limit_s", [0.2, 2])
def test_no_claim_is_false(time_limit_s):
    """Property: rates split between cut and shared GPUs, limits on replicas, few GPUs, two or three prices."""
    judged, both = 0, 0
    with small_gpus():
        for seed in range(13, 28):
            problem, profiles = beside_cuts(seed)
            try:
                strict, loose = least_costs(seed)
            except TooLargeError:
                continue
            plan = api.solve(problem, profiles=profiles, time_limit_s=time_limit_s)
            assert not list(false_claims(plan, strict, loose)), seed
            judged += 1
            both += len({gpu.gpu for gpu in plan.gpus}) > 1
    assert judged >= 8
    assert both or time_limit_s < 2
