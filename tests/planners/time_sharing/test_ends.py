"""Planners of turns on drawn tables: ends that their sources do not have, each a reason and no error."""

import pytest
from problems.instances import problem_of
from problems.turn_draws import turning_problem

from sliceplan.solver.api import solve
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance
from sliceplan.solver.planners.time_sharing.services import LARGEST, Services
from sliceplan.solver.planners.time_sharing.squishy import squishy_bins

ENDS = (Status.FEASIBLE, Status.VIOLATING, Status.NONE_FOUND, Status.INFEASIBLE)
MADE_UP = Provenance(source="made up", method="synthetic")


def services(latency_ms, rate_rps, slo_ms):
    """Returns one service on whole GPUs with such latencies of batches from 1 on."""
    known = [0.0, *latency_ms, *[float("inf")] * (LARGEST - len(latency_ms))]
    return Services(["one"], [rate_rps], [slo_ms], [{100: known}], (100,))


def test_a_batch_that_takes_longer_than_it_fills_fits_no_bin_of_a_service_too_slow_to_wait():
    assert squishy_bins(services([3.0], 900.0, 5.0), 100) is None
    assert len(squishy_bins(services([2.0], 900.0, 5.0), 100)) == 2


def test_a_batch_that_is_lowered_to_nothing_has_no_turn():
    """gpu-lets' artefact lowers it for a newcomer, refuses that one, and leaves the batch as it is."""
    rows = [(50, 1, 5.319), (100, 1, 3.222), (50, 2, 8.859), (100, 2, 5.366), (50, 3, 12.399), (100, 3, 7.511)]
    points = tuple(
        MeasuredPoint(sm_percent=share, batch=b, processes=1, latency_ms=ms, throughput_rps=1000 * b / ms)
        for share, b, ms in rows
    )
    profile = Profile(model="m0", gpu="T4", provenance=MADE_UP, points=points)
    problem = problem_of(
        [{"model": "m0", "rate_rps": 153.2987, "slo_ms": 10.196}],
        fleet=[{"gpu": "T4", "sharing": ["mps"], "count": 2}],
        turns="any",
    )
    plan = solve(problem, "gpulets-int", profiles=[profile])
    assert plan.status is Status.VIOLATING
    assert all(one.batch for gpu in plan.gpus for part in gpu.partitions for one in part.serves)


@pytest.mark.parametrize(
    "planner",
    ["gpulets-int", "sbp", "sbp-half", "self-tuning", "self-tuning-online", "timesharing", "gpulets-ideal"],
)
def test_every_planner_ends_with_a_plan_or_a_reason(planner):
    """Property: of drawn tables, SLOs and rates."""
    for seed in range(20):
        problem, profiles = turning_problem(seed)
        plan = solve(problem, planner, profiles=profiles)
        assert plan.status in ENDS
        assert plan.gpus or plan.unserved
