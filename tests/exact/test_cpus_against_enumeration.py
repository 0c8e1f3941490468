"""Random problems on small CPUs, and on GPUs beside them, against the enumeration of cores_oracle.py."""

import sys
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pytest
from oracles.cores_oracle import carried, least_cost, most_requests
from problems.cpu_draws import drawn_problem, small_cpus

from sliceplan.solver import api
from sliceplan.solver.check import check
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance import fleet_types


def judged(seed, trees):
    """Returns what is wrong with the answer to a drawn problem, or how it ended."""
    problem = drawn_problem(seed)
    least = least_cost(problem, trees)
    try:
        plan = api.solve(problem, profiles=[])
    except InputError as error:
        return "refused" if "no profile of it fits" in str(error) else f"false: {error}"
    if plan.status is Status.INFEASIBLE:
        return "infeasible" if least == inf else f"false: infeasible, and {least} would do"
    if plan.status is not Status.OPTIMAL or abs(plan.cost_per_hour - least) > 1e-9 * least:
        return f"false: {plan.status} at {plan.cost_per_hour}, and the least is {least}"
    return "optimal"


@pytest.mark.parametrize("block", range(3))
def test_small_problems_are_answered_as_enumeration_does(block):
    with small_cpus() as trees:
        ends = [judged(seed, trees) for seed in range(15 * block, 15 * block + 15)]
    assert not [end for end in ends if end.startswith("false")], ends
    assert ends.count("optimal") >= 6


@pytest.mark.parametrize("block", range(3))
def test_so_are_those_whose_divisions_are_too_many_to_list(block, monkeypatch):
    monkeypatch.setattr(fleet_types, "listed_divisions", lambda tree, sizes: None)  # noqa: ARG005
    with small_cpus() as trees:
        ends = [judged(seed, trees) for seed in range(15 * block, 15 * block + 15)]
    assert not [end for end in ends if end.startswith("false")], ends
    assert ends.count("optimal") >= 6


def counted(seed):
    """Returns a drawn problem on one of each type, with a fifth of its rates and the objective capacity."""
    problem = drawn_problem(seed)
    fleet = tuple(entry.model_copy(update={"count": 1}) for entry in problem.fleet)
    settings = problem.settings.model_copy(update={"objective": "capacity"})
    workloads = tuple(one.model_copy(update={"rate_rps": one.rate_rps / 5}) for one in problem.workloads)
    return problem.model_copy(update={"fleet": fleet, "settings": settings, "workloads": workloads})


@pytest.mark.parametrize("listed", [True, False])
def test_the_most_that_cpus_could_carry_is_what_enumeration_finds(listed, monkeypatch):
    """Property: of small CPUs with and without GPUs beside them, with all divisions listed and with none."""
    if not listed:
        monkeypatch.setattr(fleet_types, "listed_divisions", lambda tree, sizes: None)  # noqa: ARG005
    ends = []
    with small_cpus() as trees:
        for seed in range(24):
            problem = counted(seed)
            if sum(len(carried(problem, one, entry)) for one in problem.workloads for entry in problem.fleet) > 5:
                continue  # the enumeration takes too long
            most = most_requests(problem, trees)
            try:
                plan = api.solve(problem, profiles=[])
            except InputError as error:
                if "no profile of it fits" not in str(error):
                    raise
                continue
            ends.append(plan.status)
            assert check(problem, plan, []) == []
            if most is None:
                assert plan.status is Status.INFEASIBLE, seed
                continue
            assert plan.capacity.value == pytest.approx(most, rel=1e-7), seed
            assert plan.capacity.limit >= most * (1 - 1e-7), seed
    assert ends.count(Status.OPTIMAL) >= 4, ends


if __name__ == "__main__":
    with small_cpus() as known:
        for number in range(int(sys.argv[1]), int(sys.argv[2])):
            print(number, judged(number, known), flush=True)
