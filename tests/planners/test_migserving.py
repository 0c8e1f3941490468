"""MIG-serving's configurations, fast algorithm, lower bound and slow algorithm."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import MODELS, problem_of, random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners import migserving_greedy, migserving_search
from sliceplan.solver.planners.migserving import CAPPED, paper_lower_bound
from sliceplan.solver.planners.migserving_configs import DONE, Scoring, best_configurations, configuration_space
from sliceplan.solver.planners.migserving_greedy import greedy, taken
from sliceplan.solver.planners.migserving_search import completion, refilled, swapped


def space_of(problem):
    resolved = resolve(problem, shipped_profiles())
    return configuration_space(resolved, resolved.fleet[0])


def all_left(space):
    return np.ones(len(space.utility))


def by_full_enumeration(space, *, mixing, capped):
    """Returns the GPUs of the fast algorithm when every step scores every configuration."""
    left, gpus = all_left(space), []
    while (left > DONE).any():
        candidates = np.flatnonzero(left > DONE)
        gpus.append(best_configurations(space, candidates, left, mixing=mixing, capped=capped)[0])
        taken(gpus[-1], left)
    return gpus


def contents(gpus):
    return [(gpu.workloads, [own.tolist() for own in gpu.instances]) for gpu in gpus]


def test_configurations_of_eleven_workloads_on_an_a100_are_as_many_as_counted_by_hand():
    """12 maximal multisets; split between two workloads in 69 ways that give both something: 11 * 12 + 55 * 69."""
    space = space_of(problem_of([{"model": model, "rate_rps": 500, "slo_ms": 500} for model in MODELS]))
    assert len(space.partitions) == 12
    found = best_configurations(space, np.arange(11), all_left(space), mixing=2, capped=False, count=10**6)
    assert len(found) == 11 * 12 + 55 * 69


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(0, 1000), st.sampled_from([1, 2]), st.booleans())
def test_table_of_pairs_gives_what_full_enumeration_gives(count, seed, mixing, capped):
    """Property: the table changes the time that the fast algorithm takes, not its result."""
    space = space_of(random_problem(count, seed))
    scoring = Scoring(capped=capped, mixing=mixing, last_mile_mixing=mixing)
    found = greedy(space, all_left(space), scoring)
    assert contents(found) == contents(by_full_enumeration(space, mixing=mixing, capped=capped))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(0, 1000), st.integers(1, 4), st.booleans())
def test_fast_algorithm_serves_every_rate_and_keeps_the_mixing_limit(count, seed, mixing, capped):
    space = space_of(random_problem(count, seed))
    gpus = greedy(space, all_left(space), Scoring(capped=capped, mixing=mixing, last_mile_mixing=mixing))
    assert (completion(space, gpus) >= 1 - 2 * DONE).all()
    assert max(len(gpu.workloads) for gpu in gpus) <= mixing


@pytest.mark.parametrize("count", [5, 20])
def test_fast_algorithm_ends_where_next_to_nothing_is_left_for_workloads_that_need_small_instances(count):
    space = space_of(random_problem(count, seed=6))
    utility = space.utility.copy()
    utility[:, 0] = 0
    gpus = greedy(replace(space, utility=utility), np.full(count, 1e-8), CAPPED)
    assert {w for gpu in gpus for w in gpu.workloads} == set(range(count))


def test_workloads_that_wait_for_a_place_in_the_table_are_served(monkeypatch):
    space = space_of(random_problem(40, seed=2))
    monkeypatch.setattr(migserving_greedy, "WINDOW", 8)
    gpus = greedy(space, all_left(space), CAPPED)
    assert (completion(space, gpus) >= 1 - 2 * DONE).all()


def test_score_as_printed_gives_small_rates_nearly_a_gpu_each():
    problem = problem_of([{"model": model, "rate_rps": 1, "slo_ms": 500} for model in MODELS])
    assert solve(problem, "migserving-uncapped").gpus_used >= len(MODELS) - 1
    assert solve(problem, "migserving-greedy").gpus_used <= 4


def test_lower_bound_takes_each_rate_on_its_most_efficient_size():
    problem = problem_of([{"model": model, "rate_rps": 3000, "slo_ms": 300} for model in ("vgg16", "bert")])
    resolved = resolve(problem, shipped_profiles())
    slices = 0.0
    for w in range(2):
        of_size = [
            size.profile.compute_slices * 3000 / resolved.capacity_rps[w, k]
            for k, size in enumerate(resolved.sizes)
            if resolved.capacity_rps[w, k] > 0
        ]
        slices += min(of_size)
    assert paper_lower_bound(resolved, resolved.fleet[0]) == -(-slices // 7)


@pytest.mark.parametrize("seed", range(5))
def test_lower_bound_and_planners_enclose_the_proven_optimum(seed):
    problem = random_problem(12, seed)
    resolved = resolve(problem, shipped_profiles())
    exact, slow, fast = (solve(problem, name).gpus_used for name in ("exact", "migserving-slow", "migserving-greedy"))
    assert paper_lower_bound(resolved, resolved.fleet[0]) <= exact <= slow <= fast


def test_swapped_instances_serve_every_rate_as_before():
    space = space_of(random_problem(12, seed=3))
    before = greedy(space, all_left(space), CAPPED)
    after = swapped(space, before, random.Random(1))
    assert contents(after) != contents(before)
    assert completion(space, after) == pytest.approx(completion(space, before))


def test_refilled_gpus_serve_every_rate():
    space = space_of(random_problem(20, seed=4))
    parent = greedy(space, all_left(space), CAPPED)
    for seed in range(5):
        child = refilled(space, parent, CAPPED, random.Random(seed), float("inf"))
        assert (completion(space, child) >= 1 - 2 * DONE).all()
        assert len(child) <= len(parent) + 1


def test_slow_algorithm_finds_what_the_fast_one_does_not():
    problem = random_problem(10, seed=3)
    assert solve(problem, "migserving-slow").gpus_used < solve(problem, "migserving-greedy").gpus_used


def test_slow_algorithm_ends_at_its_time_limit_with_a_plan_that_holds(monkeypatch):
    for ends in ("IDLE_GENERATIONS", "MOST_GENERATIONS"):
        monkeypatch.setattr(migserving_search, ends, 1_000_000)  # a fast machine is at its usual end before the limit
    problem = random_problem(60, seed=3)
    # The first plan of a process loads the solvers, which takes longer than the limit beside other work.
    greedy = solve(problem, "migserving-greedy")
    plan = solve(problem, "migserving-slow", time_limit_s=2)
    assert plan.search.stopped == "time_limit"
    assert plan.status is Status.FEASIBLE
    assert check(problem, plan, shipped_profiles()) == []
    assert plan.gpus_used <= greedy.gpus_used


@pytest.mark.parametrize("planner", ["migserving-greedy", "migserving-slow"])
def test_out_of_time_before_any_plan_is_said_so(planner):
    plan = solve(random_problem(1500, seed=1), planner, time_limit_s=0.1)
    assert plan.status is Status.TIMEOUT
    assert plan.search.stopped == "time_limit"
    assert plan.gpus == ()


def test_plans_carry_the_papers_bound_where_it_holds():
    problem = random_problem(20, seed=2)
    exact, plan = solve(problem), solve(problem, "migserving-greedy")
    assert 0 < plan.bound.gpus <= exact.gpus_used
    assert "MIG-serving's lower bound" in plan.bound.method
    assert plan.gap == pytest.approx(plan.gpus_used / plan.bound.gpus - 1)
    two_types = problem.model_copy(
        update={"fleet": (*problem.fleet, problem.fleet[0].model_copy(update={"gpu": "H100-80GB-SXM"}))}
    )
    assert solve(two_types, "migserving-greedy").bound.gpus is None
