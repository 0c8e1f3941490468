"""What a service would cost on each type: no type is below the cheapest partitions of all, and one slice costs one."""

import numpy as np
import pytest

from sliceplan.app.tables.prices import type_table
from sliceplan.solver.analysis.costs_by_type import costs_by_type
from sliceplan.solver.api import price, solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles

PROFILES = shipped_profiles()


@pytest.mark.parametrize("name", ["cpus", "mixed"])
def test_no_type_is_cheaper_than_the_cheapest_partitions_of_all_types(name):
    problem = example_problems()[name]
    plan, report = price(problem)
    costs = costs_by_type(problem, plan, PROFILES)
    assert list(costs) == [entry.gpu for entry in problem.fleet]
    table = type_table(problem, plan, costs).set_index("service")
    for w, (workload, service) in enumerate(zip(problem.workloads, report.services, strict=True)):
        on_one = min(of[w] for of in costs.values() if not np.isnan(of[w]))
        assert on_one >= service.marginal_usd_per_hour - 1e-9
        for gpu in table.loc[workload.name, "runs on"].split(", "):
            assert not np.isnan(costs[gpu][w])  # where it runs it can run


def test_a_service_pays_for_the_cores_that_carry_it_and_nothing_where_nobody_measured_it():
    """Two cores carry 69.3 requests/s of mobilenetv2 alone; 16 of 96 cores for $0.45 an hour cost $0.075."""
    problem = example_problems()["cpus"]
    costs = costs_by_type(problem, solve(problem), PROFILES)
    of = {one.name: {gpu: cost[w] for gpu, cost in costs.items()} for w, one in enumerate(problem.workloads)}
    assert of["captcha"]["EPYC-9654"] == pytest.approx(0.45 * 2 / 96)
    assert of["captcha"]["A100-80GB"] == pytest.approx(3.430881 / 7)
    assert np.isnan(of["search"]["EPYC-9654"])


def test_a_service_that_is_kept_off_a_type_has_no_cost_there():
    problem = example_problems()["cpus"]
    kept = tuple(
        one.model_copy(update={"gpus": ("A100-80GB",)} if one.name == "captcha" else {}) for one in problem.workloads
    )
    problem = problem.model_copy(update={"workloads": kept})
    costs = costs_by_type(problem, solve(problem), PROFILES)
    captcha = [one.name for one in kept].index("captcha")
    assert np.isnan(costs["EPYC-9654"][captcha])
    assert costs["A100-80GB"][captcha] == pytest.approx(3.430881 / 7)
