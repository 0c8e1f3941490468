"""The schedulers: none that holds beats the optimum, and each does what it is said to do."""

import numpy as np
import pytest
from problems.inss_instances import random_inss_problem, six_models

from sliceplan.solver.inss.comparing import compared
from sliceplan.solver.inss.decision import judged
from sliceplan.solver.inss.exact.partition import best_partition
from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.schedulers.gpulet import alone_ms
from sliceplan.solver.inss.schedulers.registry import SCHEDULERS
from sliceplan.solver.inss.schedulers.scheduler import Task
from sliceplan.solver.model.plan import Status


def task_of(problem, spare=1.0):
    latencies = latencies_of(problem)
    return Task(latencies, latencies.rates_rps, np.ones(len(problem.models)), spare)


@pytest.fixture(scope="module")
def six():
    return task_of(six_models())


def test_none_that_holds_beats_the_optimum():
    held = 0
    for seed in range(8):
        task = task_of(random_inss_problem(seed), (1.0, 1.2)[seed % 2])
        exact = best_partition(task.latencies, task.rates_rps, spare=task.spare)
        for scheduler in SCHEDULERS.values():
            decision = scheduler.decide(task)
            if decision is None:
                continue
            verdict = judged(task.latencies, decision, task.rates_rps, task.spare)
            assert not any("units" in one for one in verdict.missed), scheduler.name
            if verdict.holds:
                held += 1
                assert exact is not None
                assert verdict.capacity_rps.sum() <= exact.value * (1 + 1e-9), scheduler.name
    assert held > 10


def test_rows_of_the_six_models(six):
    exact, rows = compared(list(SCHEDULERS.values()), six, tasks=500)
    by_name = {row.scheduler: row for row in rows}
    assert by_name["exact"].status is Status.OPTIMAL
    assert by_name["exact"].weighted == pytest.approx(exact.value)
    assert by_name["inss-greedy"].of_exact > 0.9
    assert by_name["igniter"].capacity_rps < 0.5 * exact.value
    statuses = [row.status is Status.VIOLATING for row in rows]
    assert statuses == sorted(statuses)
    for row in rows:
        assert 0 <= row.late_early <= 1
        for one in row.served:
            if not one.missed:
                assert one.assembly_ms + one.latency_ms <= dict(_limits())[one.model] * (1 + 1e-9)
                assert one.dispatch_after_ms >= one.assembly_ms - 1e-6


def _limits():
    return [(one.model, one.slo_ms) for one in six_models().models]


def test_gpulet_has_two_pieces_a_gpu_and_twice_the_time_within_the_limit(six):
    decision = SCHEDULERS["gpulet"].decide(six)
    latencies = six.latencies
    for k, kind in enumerate(latencies.type_of_gpu):
        assert (decision.gpu == k).sum() <= 2
        for i in np.flatnonzero(decision.gpu == k):
            ms = alone_ms(six, i, kind, int(decision.units[i]))
            assert decision.batch[i] == np.flatnonzero(2 * ms <= latencies.slo_ms[i]).max() + 1
    by_bda = SCHEDULERS["bda-gpulet"].decide(six)
    assert by_bda.gpu.tolist() == decision.gpu.tolist()


def test_igniter_spares_what_it_can(six):
    """One unit less of any model would miss half its limit or its rate."""
    decision = SCHEDULERS["igniter"].decide(six)
    latencies = six.latencies
    for k, kind in enumerate(latencies.type_of_gpu):
        here = np.flatnonzero(decision.gpu == k)
        if not len(here):
            continue
        batch = decision.batch[here] - 1
        ms = latencies.ms(kind, here, decision.units[here])[np.arange(len(here)), batch]
        assert (2 * ms <= latencies.slo_ms[here] + 1e-9).all()


def test_deciding_blindly_is_judged_with_interference(six):
    """InSS-ni: what it decides is not always kept, and is never better than what is proven."""
    decision = SCHEDULERS["inss-no-interference"].decide(six)
    blind = judged(six.latencies.without_interference(), decision, six.rates_rps)
    real = judged(six.latencies, decision, six.rates_rps)
    assert blind.holds
    assert real.capacity_rps.sum() < blind.capacity_rps.sum()


def test_nothing_fits_is_said():
    problem = six_models(gpus=(1, 0))
    task = task_of(problem.model_copy(update={"models": problem.models}))
    heavy = Task(task.latencies, task.rates_rps * 50, task.weights)
    exact, rows = compared(list(SCHEDULERS.values()), heavy, tasks=100)
    assert exact is None
    by_name = {row.scheduler: row.status for row in rows}
    assert by_name["exact"] is Status.INFEASIBLE
    assert by_name["gpulet"] is Status.NONE_FOUND
    assert by_name["inss-greedy"] is Status.VIOLATING
