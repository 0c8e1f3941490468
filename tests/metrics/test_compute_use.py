"""How much of each partition's compute is at work."""

import numpy as np
import pytest
from problems.shop import shop

from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.compute_use import compute_use
from sliceplan.solver.performance.prediction import peak_rps

SMS_OF_A100 = {"1g.10gb": 14, "2g.20gb": 28, "3g.40gb": 42, "4g.40gb": 56, "7g.80gb": 98}
"""NVIDIA's: an A100 has 7 compute slices of 14 SMs."""


def test_a_partition_is_at_work_as_much_as_its_rate_is_of_what_its_model_could_reach_there():
    problem, known = shop(), shipped_profiles()
    plan = solve(problem)
    use = compute_use(problem, plan, known)
    model_of = {one.name: one.model for one in problem.workloads}
    profile_of = {(one.model, one.gpu): one for one in known}
    number = 0
    for at, gpu in enumerate(plan.gpus):
        assert use.first[at] == number
        assert use.whole_sms[at] == SMS_OF_A100["7g.80gb"]
        for partition in gpu.partitions:
            (served,) = partition.serves
            peak = peak_rps(profile_of[model_of[served.workload], gpu.gpu], partition.mig_profile)
            assert use.sms[number] == SMS_OF_A100[partition.mig_profile]
            assert use.busy_sms[number] == pytest.approx(use.sms[number] * served.rate_rps / peak)
            number += 1
    assert number == len(use.sms)


@pytest.mark.parametrize("name", ["demo", "mixed", "igniter", "cpus"])
def test_the_parts_add_up_to_the_metrics_of_the_plan(name):
    problem = example_problems()[name]
    plan = solve(problem)
    use = compute_use(problem, plan, shipped_profiles())
    assert np.all(use.busy_sms <= use.sms)
    assert 1 - use.busy_sms.sum() / use.sms.sum() == pytest.approx(plan.metrics.internal_slack)
    assert 1 - use.sms.sum() / use.whole_sms.sum() == pytest.approx(plan.metrics.external_fragmentation, abs=1e-9)
