"""Plans that are mended and bettered GPU by GPU: they stay plans, and rise."""

import time
from dataclasses import replace

import numpy as np
import pytest
from problems.igniter_instances import freely_shared

from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.exact.shared_capacity import freed as module
from sliceplan.solver.exact.shared_capacity.asked_rows import AskedRows
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.freed import better_plans
from sliceplan.solver.exact.shared_capacity.known import KnownContents
from sliceplan.solver.exact.shared_capacity.program import value_of
from sliceplan.solver.exact.shared_capacity.shared_gpus import SharedGpus
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid

N, GPUS = 12, 6
ONES = np.ones(N)


def begun(seed, most):
    """Returns what is asked, GPUs, known contents, what is near, and a plan of least cost."""
    resolved = resolve(freely_shared(N, seed, most, GPUS), shipped_profiles())
    (figures,) = [Figures.of(resolved, mps, all_paid(N)) for mps in resolved.mps.values()]
    plan = [figures.content(one.residents) for one in solve_mixed_fleet(resolved, time_limit_s=1).gpus]
    known = KnownContents(ONES, np.full(N, np.inf))
    known.add(plan)
    gpu = figures.mps.gpu
    return AskedRows.of(resolved), {gpu: GPUS}, known, [SharedGpus(figures)], plan


def bettered(asked, gpus, plan, known, near, seconds=60.0):
    return list(better_plans(asked, ONES, gpus, plan, known, near, deadline=time.monotonic() + seconds))


@pytest.mark.parametrize(("seed", "most"), [(1, (1,)), (2, (None,)), (3, (1, None, 3))])
def test_each_plan_is_a_plan_and_worth_more_than_the_one_before(seed, most, monkeypatch):
    monkeypatch.setattr(module, "FREED", (2, 4))
    asked, gpus, known, near, plan = begun(seed, most)
    found = bettered(asked, gpus, plan, known, near)
    values = [value_of(ONES, one) for one in (plan, *found)]
    assert values == sorted(set(values))
    assert all(asked.are_met_by(one) and len(one) <= GPUS for one in found)
    assert values[-1] > 1.5 * values[0]


@pytest.mark.parametrize("lost", [1, 9])
def test_a_plan_that_lacks_services_is_mended(lost):
    """Or made, where there is none at all."""
    asked, gpus, known, near, plan = begun(1, (1,))
    found = bettered(asked, gpus, plan[lost:], known, near)
    assert asked.are_met_by(found[-1])


def test_without_time_there_is_no_other_plan_and_it_ends_where_nothing_is_found(monkeypatch):
    asked, gpus, known, near, plan = begun(1, (1,))
    assert bettered(asked, gpus, plan, known, near, seconds=-1.0) == []
    tries = []
    monkeypatch.setattr(module, "best_mix", lambda *_, **__: tries.append(1))
    assert bettered(asked, gpus, plan, known, near) == []
    assert len(tries) == module.TRIES + module.TRIES_OF_EACH * len(plan)


def test_gpus_that_lack_most_are_freed_most_often():
    asked, gpus, known, near, plan = begun(1, (1,))
    prices = known.prices(asked, gpus)
    best = bettered(asked, gpus, plan, known, near)[-1]
    known.add(best)
    prices = known.prices(asked, gpus)
    price, charge = prices.of(ONES)
    worth = [one.worth(all_paid(N), price, charge) for one in plan]
    losses = module._losses(plan, ONES, np.full(N, np.inf), prices, known.most(prices, gpus))
    assert np.argsort(losses, kind="stable").tolist() == np.argsort(-np.array(worth), kind="stable").tolist()
    assert losses.min() >= module.ANY
    assert losses.mean() == pytest.approx(1 + module.ANY)
    assert module._losses([], ONES, ONES, prices, {}).tolist() == []


def test_a_plan_need_not_use_every_type_of_which_contents_are_known():
    asked, gpus, known, near, plan = begun(1, (1,))
    other = replace(plan[0], gpu=replace(plan[0].gpu, gpu="another"))
    known.add([other])
    more = {**gpus, "another": 0}
    found = bettered(asked, more, plan, known, near)
    assert asked.are_met_by(found[-1])
    assert {one.gpu.gpu for one in found[-1]} == set(gpus)
