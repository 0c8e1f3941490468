"""Services join GPUs under MPS that have room: everyone there stays in time by the published equations."""

import numpy as np
import pytest
from problems.igniter_instances import random_mps_problem

from sliceplan.solver.allocation.allocated import MpsGpu
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.check import check
from sliceplan.solver.exact.mps.joined_residents import joined
from sliceplan.solver.exact.mps.packed_residents import packed_residents
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.answers import of_known

PROFILES = shipped_profiles()
SEARCH = Search(stopped="time_limit", time_limit_s=1, solver=None)


def of_services(problem, gpus):
    """Returns the problem of those services that GPUs host, and the GPUs by their numbers there."""
    hosted = sorted({w for gpu in gpus for w in gpu.workloads})
    number = {w: at for at, w in enumerate(hosted)}
    renumbered = [
        MpsGpu(gpu.gpu, tuple(type(one)(number[one.workload], one.batch, one.percent) for one in gpu.residents))
        for gpu in gpus
    ]
    return problem.model_copy(update={"workloads": tuple(problem.workloads[w] for w in hosted)}), renumbered


@pytest.mark.parametrize("latency", ["execution", "percentile"])
@pytest.mark.parametrize("seed", range(4))
def test_those_who_join_fit_and_everybody_else_stays_in_time(seed, latency):
    problem = random_mps_problem(24, seed)
    problem = problem.model_copy(update={"settings": problem.settings.model_copy(update={"latency": latency})})
    resolved = resolve(problem, PROFILES)
    (mps,) = resolved.mps.values()
    first = resolved.restricted_to(list(range(10)))
    gpus = packed_residents(first, first.mps[mps.gpu])
    saves = np.where(np.arange(24) < 10, 0.0, np.linspace(2.0, 0.5, 24))
    found = joined(resolved, gpus, saves)
    before, after = ({w for gpu in some for w in gpu.workloads} for some in (gpus, found))
    assert len(found) == len(gpus)
    assert before < after
    assert sum(len(gpu.residents) for gpu in found) == len(after)
    part, own = of_services(problem, found)
    points = resolve(part, PROFILES)
    plan = completed(part, of_known(points, own, SEARCH), PROFILES)
    assert check(part, plan, PROFILES) == []


def test_who_saves_nothing_stays_and_who_saves_most_comes_first():
    """Twice the same service, of which one saves more: of one place it is that one who takes it."""
    problem = random_mps_problem(8, 3)
    twice = tuple(
        w.model_copy(update={"name": f"w{n}"}) for n, w in enumerate((*problem.workloads, *problem.workloads))
    )
    resolved = resolve(problem.model_copy(update={"workloads": twice}), PROFILES)
    (mps,) = resolved.mps.values()
    first = resolved.restricted_to([0])
    gpus = packed_residents(first, first.mps[mps.gpu])
    assert joined(resolved, gpus, np.zeros(16)) == gpus
    for dear, cheap in ((2, 10), (10, 2)):
        saves = np.zeros(16)
        saves[dear], saves[cheap] = 2.0, 1.0
        hosted = {w for gpu in joined(resolved, gpus, saves) for w in gpu.workloads}
        assert hosted <= {0, dear, cheap}
        assert dear in hosted


def test_gpus_of_services_that_have_several_residents_are_left_alone():
    problem = random_mps_problem(12, 1)
    resolved = resolve(problem, PROFILES)
    (mps,) = resolved.mps.values()
    first = resolved.restricted_to([0, 1])
    (gpu, *_) = packed_residents(first, first.mps[mps.gpu])
    split = [gpu, gpu]
    assert joined(resolved, split, np.where(np.arange(12) < 2, 0.0, 1.0)) == split
