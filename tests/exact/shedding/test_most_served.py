"""Which of alike services are those that the program's GPUs serve."""

from types import SimpleNamespace

import numpy as np
import pytest
from ortools.math_opt.python import mathopt
from problems.igniter_instances import random_mps_problem
from problems.instances import problem_of

from sliceplan.solver.exact.mps.program import NO_SHARES
from sliceplan.solver.exact.shedding import most_served as module
from sliceplan.solver.exact.shedding.most_served import _most_served, most_served
from sliceplan.solver.exact.shedding.shortfall import _without_a_recipe
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def three_alike(settled, chosen):
    """Returns which of three alike services, and of another one, are served by an answer that names these."""
    one, other = random_mps_problem(2, 0).workloads
    alike = [one.model_copy(update={"name": f"alike-{i}"}) for i in range(3)]
    problem = random_mps_problem(2, 0).model_copy(update={"workloads": (*alike, other)})
    resolved = resolve(problem, shipped_profiles())
    program = SimpleNamespace(
        is_served=range(4),
        shared=SimpleNamespace(settled=settled, decode=lambda _: NO_SHARES),
        cut=lambda _: (),
        partitions=lambda _: np.ones(resolved.capacity_rps.shape, dtype=np.int64),
        spares=lambda _: None,
    )
    return _most_served(resolved, program, {i: float(i in chosen) for i in range(4)}, 4.0)


@pytest.mark.parametrize(
    ("settled", "served"),
    [({0, 1, 2}, [True, True, False, True]), ({0, 1}, [False, True, True, True]), (set(), [False, True, True, True])],
)
def test_of_alike_services_under_mps_the_first_are_served_to_whom_residents_are_dealt(settled, served):
    """Only where residents are dealt within the class: else the program says itself who is served."""
    assert three_alike(settled, {1, 2, 3}).served == served


def test_nothing_is_served_where_the_program_has_no_answer():
    one = random_mps_problem(2, 0)
    resolved = resolve(one, shipped_profiles())
    found = _most_served(resolved, SimpleNamespace(), None, 2.0)
    assert (found.served, found.most, found.patterns, found.spares) == ([False, False], 2.0, (), None)
    assert not found.partitions.any()


@pytest.mark.parametrize(
    ("proven", "tried"), [(True, "no allowed number of replicas"), (False, "no number of replicas that was tried")]
)
def test_what_the_rules_of_mps_keep_from_every_gpu_is_said_as_a_fact_only_where_it_is_one(proven, tried):
    services = [{"model": "alexnet", "rate_rps": 500, "slo_ms": 30, "min_replicas": least} for least in (1, 2)]
    problem = problem_of(services, fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}], mps_rules="igniter")
    (lost,) = _without_a_recipe(resolve(problem, shipped_profiles()), proven)
    assert lost.workload == "w1"
    assert f"{tried} serves it" in lost.reason


def test_a_service_that_some_size_of_mig_serves_is_not_lost():
    services = [{"model": "resnet50", "rate_rps": 500, "slo_ms": 40, "min_replicas": 2, "memory_mib": 12000}]
    fleet = [{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}, {"gpu": "A100-80GB"}]
    resolved = resolve(problem_of(services, fleet=fleet, mps_rules="igniter"), shipped_profiles())
    assert resolved.capacity_rps.any()
    assert not resolved.capacity_rps.all()
    assert _without_a_recipe(resolved, True) == []


class Found(SimpleNamespace):
    """What a solver ends with: how, a limit, and a solution's value and variables; None: there is none."""

    value = None

    @property
    def termination(self):
        return SimpleNamespace(objective_bounds=SimpleNamespace(dual_bound=self.limit))

    def has_primal_feasible_solution(self):
        return self.value is not None

    def objective_value(self):
        return self.value

    def variable_values(self):
        return f"values of {self.value}"


@pytest.fixture
def rounds(monkeypatch):
    """Returns a function that searches with these ends of rounds, each of which takes all of its time."""

    def searched(ends, *, worth=(1.0, 2.0), heard=True, seconds=60.0):
        now, left, asked, told = [100.0], list(ends), [], []
        model = mathopt.Model()
        variables = [model.add_binary_variable() for _ in worth]
        program = SimpleNamespace(model=model, is_served=variables, rates="rates")

        def solved(asked_model, limit_s, *, absolute_gap, start):
            assert asked_model is model
            asked.append((limit_s, absolute_gap, start))
            now[0] += limit_s
            return left.pop(0)

        def answer(_, of, values, most):
            assert of is program
            return values, most

        patched = {
            "time": SimpleNamespace(monotonic=lambda: now[0]),
            "CuttingStockProgram": lambda *_, counts, all_served, **__: program if counts and not all_served else None,
            "run_highs": solved,
            "solved_with_rates_met": lambda _, rates, search: search() if rates == "rates" else None,
            "end_of": lambda result: result.end,
            "_most_served": answer,
        }
        for name, value in patched.items():
            monkeypatch.setattr(module, name, value)
        on_answer = told.append if heard else None
        found = most_served(None, worth=list(worth), time_limit_s=seconds, on_answer=on_answer)
        objective = model.objective
        assert objective.is_maximize
        assert [objective.get_linear_coefficient(one) for one in variables] == list(worth)
        return found, asked, told

    return searched


def ended(end, limit, value=None):
    return Found(end=end, limit=limit, value=value)


def test_without_anybody_to_tell_the_program_is_solved_in_one_go(rounds):
    found, asked, _ = rounds([ended("time_limit", 2.5, 2.0)], heard=False)
    assert found == ("values of 2.0", 2)
    assert asked == [(60.0, 0.999, None)]


def test_the_best_set_so_far_is_told_in_rounds_that_grow_and_the_next_begins_from_it(rounds):
    """Seconds 1, 5 and 21; of the 39 that are left less than twice the next round is the last one."""
    ends = [
        ended("time_limit", 9.0),
        ended("time_limit", 2.9, 1.0),
        ended("time_limit", 2.95, 0.5),
        ended("time_limit", 2.8, 2.0),
    ]
    found, asked, told = rounds(ends)
    assert [one[0] for one in asked] == [1.0, 4.0, 16.0, 39.0]
    assert [one[2] for one in asked] == [None, None, "values of 1.0", "values of 1.0"]
    # No set is worth more than all, nor is any limit given up.
    assert told == [(None, 3), ("values of 1.0", 2), ("values of 1.0", 2)]
    assert found == ("values of 2.0", 2)


def test_a_round_that_ends_with_the_best_set_is_the_last(rounds):
    found, asked, told = rounds([ended("time_limit", 3.0, 1.0), ended("optimal", 2.0, 2.0)])
    assert (found, len(asked), told) == (("values of 2.0", 2), 2, [("values of 1.0", 3)])
    found, asked, told = rounds([ended("optimal", 1.0, 1.0)], seconds=3.0)
    assert (found, len(asked), told) == (("values of 1.0", 1), 1, [])


@pytest.mark.parametrize(("seconds", "limits"), [(2.0, [1.0, 1.0]), (1.9, [1.9]), (9.5, [1.0, 8.5 - 4.5, 4.5])])
def test_a_round_leaves_time_for_another_one(rounds, seconds, limits):
    found, asked, _ = rounds([ended("time_limit", 3.0, 1.0)] * len(limits), seconds=seconds)
    assert [one[0] for one in asked] == pytest.approx(limits)
    assert found == ("values of 1.0", 3)


@pytest.mark.parametrize(
    ("worth", "limit", "most", "gap"),
    [
        ((1.0, 2.0), 2.9999, 2, 0.999),
        ((1.0, 2.0), 3 - 1e-7, 3, 0.999),
        ((1.0, 2.0), 3 - 1e-5, 2, 0.999),
        ((1.5, 2.0), 2.9999, 2.9999, None),
        ((1.5, 2.0), 9.0, 3.5, None),
    ],
)
def test_whole_figures_add_up_to_whole_ones(rounds, worth, limit, most, gap):
    found, asked, _ = rounds([ended("optimal", limit, 1.0)], worth=worth)
    assert found[1] == most
    assert asked[0][1] == gap
