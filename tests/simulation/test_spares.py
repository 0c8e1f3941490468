"""Partitions that are kept free take over what a GPU that fails had."""

from dataclasses import replace

import pytest
from problems.instances import problem_of as problem_on_mig
from problems.simulated_plans import answered, gpu, instance, problem_of, served

from sliceplan.solver.api import SimulationSettings, simulate, solve
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.simulation.arrivals.even import Even
from sliceplan.solver.simulation.dispatch.least_loaded import LeastLoaded
from sliceplan.solver.simulation.dispatch.weighted_round_robin import WeightedRoundRobin

LOST = SimulationSettings(arrivals=Even(), seconds=40.0, failures_s={"A100-80GB/0": 2.0}, takeover_s=3.0)


def plan_with(problem, *kept_free):
    """Returns a plan with `a` on one GPU, and on a second one `b` beside partitions that are kept free."""
    first = gpu(0, instance(0, served("a", 100.0)))
    return answered(problem, first, gpu(1, instance(0, served("b", 50.0)), *kept_free))


@pytest.mark.parametrize("dealing", [WeightedRoundRobin(), LeastLoaded()], ids=lambda one: one.name)
def test_requests_are_lost_until_the_spare_is_up_and_none_after(dealing):
    problem = problem_of(a=100.0, b=50.0)
    report = simulate(problem, plan_with(problem, instance(2)), replace(LOST, dealing=dealing))
    a, b = report.services
    assert a.dropped == pytest.approx(a.requests * 3 / 4, abs=a.sections)  # 3 of the 4 s of each replication
    assert b.dropped == 0
    assert a.unstable is None
    assert [(one.gpu, one.partition) for one in a.partitions] == [("A100-80GB/0", 0), ("A100-80GB/1", 1)]
    assert a.partitions[1].utilisation == pytest.approx(a.partitions[1].load * 4, rel=0.1)  # batches of one
    assert "1 of 1 lost servers are up again" in " ".join(report.notes)


def test_a_spare_of_another_size_or_on_a_gpu_that_fails_takes_nothing_over():
    problem = problem_of(a=100.0, b=50.0)
    larger = instance(4).model_copy(update={"mig_profile": "3g.40gb"})
    for plan, lost in (
        (plan_with(problem, larger), LOST),
        (plan_with(problem, instance(2)), replace(LOST, failures_s={**LOST.failures_s, "A100-80GB/1": 30.0})),
    ):
        report = simulate(problem, plan, lost)
        assert report.services[0].unstable.capacity_rps == 0
        assert report.services[0].holds == "no"


def test_every_gpu_of_a_plan_that_keeps_spares_may_fail():
    workloads = [{"model": "resnet50", "rate_rps": 900, "slo_ms": 90}, {"model": "bert", "rate_rps": 40, "slo_ms": 900}]
    problem = problem_on_mig(workloads, latency="percentile", spare_gpu_loss=True)
    plan = solve(problem)
    for one in plan.gpus:
        had = sum(bool(partition.serves) for partition in one.partitions)
        report = simulate(problem, plan, SimulationSettings(seconds=2.0, failures_s={one.id: 1.0}, takeover_s=0.0))
        assert all(service.unstable is None for service in report.services)
        if had:
            assert f"{had} of {had} lost servers are up again" in " ".join(report.notes)


def test_a_takeover_without_a_failure_is_refused():
    problem = problem_of(a=100.0, b=50.0)
    with pytest.raises(InputError, match="expected --fail-gpu"):
        simulate(problem, plan_with(problem), SimulationSettings(takeover_s=1.0))
