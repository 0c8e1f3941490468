"""What stands apart from a plan of least cost: still a plan, on no more GPUs than there are, and worth more."""

import time

import numpy as np
import pytest
from problems.igniter_instances import freely_shared

from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.exact.shared_capacity import answer
from sliceplan.solver.exact.shared_capacity.apart import _fewer, set_apart
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices
from sliceplan.solver.exact.shared_capacity.program import meets, value_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.igniter import hosted

N = 10


def planned(seed, most, gpus):
    """Returns a drawn problem of ten services on so many V100s, its figures, and a plan of least cost as contents."""
    resolved = resolve(freely_shared(N, seed, most, gpus), shipped_profiles())
    (figures,) = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
    cheap = solve_mixed_fleet(resolved, time_limit_s=2).gpus
    return resolved, figures, [figures.content(one.residents) for one in cheap]


@pytest.mark.parametrize(("seed", "most"), [(1, (1,)), (2, (1, None, 3))])
def test_a_plan_with_services_apart_is_a_plan_that_uses_every_gpu(seed, most):
    resolved, figures, plan = planned(seed, most, 5)
    nothing = np.zeros(N)
    asked = []

    def cheap(rest, _):
        asked.append((len(rest.required_rps), rest.fleet[0].available))
        return solve_mixed_fleet(rest, time_limit_s=0.5).gpus

    found = set_apart(
        resolved,
        [figures],
        np.ones(N),
        MasterPrices(nothing, nothing, nothing),
        plan,
        cheap,
        deadline=time.monotonic() + 60,
    )
    assert meets(resolved, found)
    assert len(found) <= 5
    replicas = sum(one.replicas(N) for one in found)
    for number, one in zip(replicas, resolved.problem.workloads, strict=True):
        assert one.min_replicas <= number <= (one.max_replicas or number)
    assert value_of(np.ones(N), found) > value_of(np.ones(N), plan)
    # The others are asked about without those who stand apart, on the GPUs that these leave.
    assert asked
    assert all(number < N and left < 5 for number, left in asked)


def test_without_time_the_plan_stays():
    resolved, figures, plan = planned(1, (1,), 5)
    nothing = MasterPrices(np.zeros(N), np.zeros(N), np.zeros(N))
    found = set_apart(resolved, [figures], np.ones(N), nothing, plan, lambda *_: None, deadline=time.monotonic())
    assert found == plan


def test_others_stay_where_they_are_unless_fewer_gpus_hold_them():
    resolved, figures, plan = planned(1, (1,), 5)
    anyone = np.zeros(N, dtype=bool)
    by_gpu = {figures.mps.gpu: figures}
    again = [one.gpu for one in reversed(plan)]
    one_alone = [figures.content([resident]) for one in plan for resident in one.gpu.residents]
    assert _fewer(resolved, by_gpu, anyone, plan, [], lambda *_: again, 1.0) is plan
    assert _fewer(resolved, by_gpu, anyone, plan, [], lambda *_: None, 1.0) is plan
    found = _fewer(resolved, by_gpu, anyone, one_alone, [], lambda *_: again, 1.0)
    assert [one.gpu for one in found] == again


class _ReachedError(Exception):
    """Services would stand apart now."""


def test_the_first_question_leaves_time_for_services_to_stand_apart(monkeypatch):
    """What it takes is bounded by a part of the time limit; else short limits end with the first plan."""
    resolved, *_ = planned(1, (1,), 5)
    left_s = []
    asked = answer.content_limit

    def noted(*arguments, deadline, **others):
        left_s.append(deadline - time.monotonic())
        return asked(*arguments, deadline=deadline, **others)

    def reached(*_, **__):
        raise _ReachedError

    monkeypatch.setattr(answer, "content_limit", noted)
    monkeypatch.setattr(answer, "set_apart", reached)
    with pytest.raises(_ReachedError):
        answer.most_capacity_shared(resolved, hosted, (), on_answer=lambda *_: None, time_limit_s=30.0)
    assert len(left_s) == 1
    assert max(left_s) <= answer.ASKING * 30.0 < 30.0 / 4
