"""What services take of shared GPUs as a fluid, at each share that there is, and in whole units."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import random_mps_problem

from sliceplan.solver.exact.mps import fluid_shares as module
from sliceplan.solver.exact.mps.fluid_shares import fluid_of, fluid_shares, whole_units
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.alone import at_every_share
from sliceplan.solver.performance.resolve import resolve


def alike(copies):
    """Returns a problem in which some services stand several times, in another order."""
    problem = random_mps_problem(5, 3)
    twice = [one.model_copy(update={"name": f"{one.name}-{i}"}) for i in range(copies) for one in problem.workloads]
    return resolve(problem.model_copy(update={"workloads": tuple(twice)}), shipped_profiles())


def test_services_are_as_fluid_as_alone_at_every_share_however_many_are_looked_at_together(monkeypatch):
    """By a loop over batch sizes and shares; a whole service takes the share with which it carries all, too."""
    resolved = alike(2)
    workloads = list(resolved.problem.workloads)
    workloads[1] = workloads[1].model_copy(update={"max_replicas": 1})
    problem = resolved.problem.model_copy(update={"workloads": tuple(workloads)})
    resolved = resolve(problem, shipped_profiles())
    (mps,) = resolved.mps.values()
    monkeypatch.setattr(module, "MOST_COMPARED", 1)
    found = fluid_shares(resolved)
    for w, required in enumerate(resolved.required_rps.tolist()):
        units_each, whole, some = [], [], []
        for batch in mps.batches[w].tolist():
            for units in mps.shares.tolist():
                shape = np.full((1, 1), w), np.full((1, 1), batch), np.full((1, 1), float(mps.percent(units)))
                one = mps.model.predict(*shape)
                if one.latency_ms[0, 0] <= resolved.limit_ms[w]:
                    carried = min(float(one.throughput_rps[0, 0]) / required, 1.0)
                    units_each.append(units / carried)
                    some.append(units)
                    whole += [units] if carried >= 1 - 1e-9 else []
        least = min(units_each)
        if workloads[w].max_replicas == 1:
            least = max(least, min(whole, default=np.inf))
        assert found.gpus[w, 0] * mps.capacity_units == pytest.approx(least)
        assert found.least[w, 0] * mps.capacity_units == pytest.approx(min(some))


@pytest.mark.parametrize("copies", [1, 2])
def test_alike_services_take_alike_and_a_multiple_of_a_rate_is_that_of_the_rate(copies):
    resolved = alike(copies)
    for rate in (1.0, 1.7):
        direct = fluid_shares(resolved.at_rates(resolved.required_rps * rate))
        once = fluid_of(resolved, rate)
        assert once.gpus == pytest.approx(direct.gpus)
        assert once.least == pytest.approx(direct.least)


def test_without_gpus_under_mps_nobody_takes_any():
    nothing = fluid_shares(SimpleNamespace(mps={}, required_rps=np.ones(3)))
    assert nothing.gpus.shape == nothing.least.shape == (3, 0)


@pytest.mark.parametrize(("on_mig", "expected"), [(False, [0.4, 0.3, 0.2]), (True, [0.31, 0.3, 0.11])])
def test_who_has_no_choice_takes_whole_units_and_no_more_where_rounding_only_is_beyond(on_mig, expected):
    """Of tenths of a GPU. The second takes three to within rounding; the third could be cut from a GPU instead."""
    gpus = np.array([[0.31], [0.3 * (1 + 1e-9)], [0.11]])
    capacity = np.zeros((3, 2))
    capacity[:, 1] = on_mig
    resolved = SimpleNamespace(mps={"x": SimpleNamespace(capacity_units=10)}, capacity_rps=capacity)
    assert whole_units(resolved, gpus)[:, 0] == pytest.approx(expected)
    both = np.hstack([gpus, gpus])
    resolved.mps["y"] = SimpleNamespace(capacity_units=10)
    assert whole_units(resolved, both) == pytest.approx(both), "who may be on two types has a choice"
    there = np.where([[True, False], [True, False], [False, True]], both, np.inf)
    assert np.isfinite(whole_units(resolved, there)).sum() == 3


def test_where_requests_wait_a_share_carries_what_its_rule_allows_at_the_best_batch_size():
    """By a loop over shares, each operating point by itself."""
    problem = random_mps_problem(3, 2)
    whole = problem.workloads[1].model_copy(update={"max_replicas": None})
    settings = problem.settings.model_copy(update={"latency": "percentile"})
    workloads = (problem.workloads[0], whole, problem.workloads[2])
    resolved = resolve(problem.model_copy(update={"workloads": workloads, "settings": settings}), shipped_profiles())
    (mps,) = resolved.mps.values()
    assert mps.promise is not None
    found = fluid_shares(resolved)
    for w, required in enumerate(resolved.required_rps.tolist()):
        every = at_every_share(mps, w)
        points = every.operating_points
        asked = mps.promise.asked.of(np.full(points.batch.size, w))
        carried = mps.promise.rule.greatest_rps(points, asked).reshape(every.latency_ms.shape).max(axis=0)
        part = np.minimum(carried / required, 1.0)
        able = part > 0
        least = (every.units[able] / part[able]).min()
        if workloads[w].max_replicas == 1:
            least = max(least, every.units[part >= 1 - 1e-9].min(initial=10**9))
        assert found.gpus[w, 0] * mps.capacity_units == pytest.approx(least)
        assert found.least[w, 0] * mps.capacity_units == pytest.approx(every.units[able].min())
