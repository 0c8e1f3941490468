"""What the learned scheduler acts in: units that are dealt one by one, tasks that are counted, and who does best."""

import numpy as np
import pytest
from problems.inss_instances import six_models

from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.learning.environment import PENALTY, Environment, Setting
from sliceplan.solver.inss.learning.episodes import (
    at_random,
    exact_plans,
    with_batches_of_each_second,
    with_own_batches,
)
from sliceplan.solver.inss.rates import walk_of
from sliceplan.solver.inss.units import dealt


@pytest.fixture(scope="module")
def setting():
    return Setting(latencies_of(six_models()))


def one_by_one(gpu, asked, gpu_units):
    """Deals units in the order of the models, one a turn, until all are dealt."""
    units = list(asked)
    for k in set(gpu):
        here = [i for i, one in enumerate(gpu) if one == k]
        left = gpu_units[k] - sum(units[i] for i in here)
        while left and any(left > 0 or units[i] > 1 for i in here):
            for i in here:
                if left > 0:
                    units[i], left = units[i] + 1, left - 1
                elif left < 0 and units[i] > 1:
                    units[i], left = units[i] - 1, left + 1
    return units


def test_units_are_dealt_until_a_gpu_is_full():
    draw = np.random.default_rng(0)
    gpu_units = np.array([17, 15, 4])
    for _ in range(300):
        gpu, asked = draw.integers(0, 3, 6), draw.integers(1, 18, 6)
        found = dealt(gpu, asked, gpu_units)
        assert found.tolist() == one_by_one(gpu.tolist(), asked.tolist(), gpu_units.tolist())
        for k in set(gpu.tolist()):
            assert found[gpu == k].sum() == max(gpu_units[k], (gpu == k).sum())


def test_a_second_by_hand():
    """Ten tasks, one each 100 ms, batches of 4 in 250 ms: two full ones and the last two at their end."""
    problem = six_models()
    one = problem.models[0].model_copy(update={"slo_ms": 500.0, "rate_rps": 10.0, "solo_rps": 10.0})
    setting = Setting(latencies_of(problem.model_copy(update={"models": (one,)})))
    environment = Environment(setting, np.full((2, 1), 10.0))
    times = np.full((1, 32), 250.0)
    step = environment.serve(np.zeros(1, dtype=np.int64), times, np.array([4]))
    # Batches end at 550, 950 and 1200: the tasks of 0, 400 were 550 there, all others in time.
    assert (step.tasks, step.late) == (10, 2)
    assert step.capacity_rps == 16
    assert step.reward == pytest.approx(1.6 - PENALTY * 0.2)
    assert environment.free_ms[0] == pytest.approx(200)
    assert len(environment.waiting[0]) == 0
    after = environment.serve(np.zeros(1, dtype=np.int64), np.full((1, 32), 290.0), np.array([3]))
    # From 200 on three until 490, 790, 1090, each 490 after its first; the last task would start past the second.
    assert (after.tasks, after.late) == (10, 0)
    assert environment.waiting[0].tolist() == [-100]


def test_tasks_of_what_does_not_fit_are_lost(setting):
    environment = Environment(setting, np.full((1, 6), 100.0))
    gpu = np.zeros(6, dtype=np.int64)
    step = environment.serve(gpu, np.full((6, 32), 5.0), np.full(6, 32))
    assert not step.fits
    assert step.late >= 100
    assert environment.free_memory[0] >= 0


def test_who_does_best_in_the_same_environment(setting):
    """Exact plans with their own batches are never late; BDA's decisions of each second cost them their place."""
    rates = walk_of(setting.latencies.problem).evaluation(60)
    plans = exact_plans(setting.latencies, rates)
    own, halved = with_own_batches(setting, rates, plans), with_batches_of_each_second(setting, rates, plans)
    drawn = at_random(setting, rates, seed=1)
    assert own.late_share < 0.001
    assert own.reward > halved.reward > drawn.reward
    assert halved.late_share > 0.01
    assert own.normalised == pytest.approx(own.reward, abs=0.1)


def test_no_plan_for_some_rates_is_no_line(setting):
    rates = np.full((20, 6), 100.0)
    rates[10:] = 1e5
    plans = exact_plans(setting.latencies, rates)
    assert plans[1] is None
    assert with_own_batches(setting, rates, plans) is None
