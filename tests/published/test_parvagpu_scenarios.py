"""GPUs of ParvaGPU's scenarios S1 to S6 (SC'24, table IV) on its published measurements."""

import pytest
from problems.instances import published_profiles, published_scenario, shipped_scenario

from sliceplan.solver.api import solve

# Counts of the published artifact at 3, 1 and 5 processes; the exact counts were computed independently.
COUNTS = {
    ("parvagpu", 3): (2, 3, 5, 7, 13, 17),
    ("parvagpu", 5): (2, 3, 5, 7, 13, 16),
    ("parvagpu-single", 3): (2, 3, 5, 7, 14, 18),
    ("parvagpu-unoptimized", 3): (2, 3, 8, 11, 22, 29),
    ("parvagpu-unoptimized", 5): (2, 3, 8, 11, 20, 26),
    ("parvagpu-unoptimized", 1): (2, 3, 9, 11, 23, 32),
    ("exact", 1): (2, 3, 5, 7, 13, 17),
    ("exact", 3): (2, 3, 5, 7, 12, 16),
    ("exact", 5): (2, 3, 5, 7, 12, 15),
    ("exact-pulp", 1): (2, 3, 5, 7, 13, 17),
    ("exact-pulp", 3): (2, 3, 5, 7, 12, 16),
    ("exact-pulp", 5): (2, 3, 5, 7, 12, 15),
}


@pytest.mark.parametrize("number", range(1, 7))
def test_the_scenarios_that_are_shipped_are_the_published_ones(number):
    assert shipped_scenario(number) == published_scenario(number)


@pytest.mark.parametrize(("planner", "processes"), COUNTS)
def test_planner_uses_as_many_gpus_as_published(planner, processes):
    profiles = published_profiles()
    plans = [
        solve(published_scenario(number, max_processes=processes), planner, profiles=profiles) for number in range(1, 7)
    ]
    assert tuple(plan.gpus_used for plan in plans) == COUNTS[planner, processes]
    if planner.startswith("exact"):
        assert {plan.status.value for plan in plans} == {"optimal"}


# Compute slices of the segments that the artifact's maps use at 3 processes.
def test_parvagpu_uses_as_many_compute_slices_as_its_artifact():
    profiles = published_profiles()
    slices = []
    for number in range(1, 7):
        plan = solve(published_scenario(number), "parvagpu", profiles=profiles)
        slices.append(sum(int(part.mig_profile[0]) for gpu in plan.gpus for part in gpu.partitions))
    assert slices == [10, 20, 33, 48, 89, 114]
