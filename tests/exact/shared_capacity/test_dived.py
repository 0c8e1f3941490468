"""Plans from parts of contents: what is taken first, what is left, and who joins where somebody is missing."""

import time
from collections import Counter
from dataclasses import replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.shared_capacity import dived as module
from sliceplan.solver.exact.shared_capacity.dived import dived, with_all
from sliceplan.solver.exact.shared_capacity.freed import join_near_program
from sliceplan.solver.exact.shared_capacity.program import rank_of

from .test_freed import GPUS, ONES, N, begun
from .test_program import content, problem

ONE, TWO, BOTH = content("A", [4.0, 0.0], [1, 0]), content("A", [0.0, 5.0], [0, 1]), content("A", [3.0, 3.0], [1, 1])


def test_of_the_parts_those_almost_whole_are_taken_together_and_else_the_greatest_one():
    asked = problem([1.0, 1.0], [(1, None), (1, None)])
    gpus = {"A": 9}
    almost, less = module.ALMOST, module.ALMOST - 0.01
    for parts, taken in (
        ([(ONE, 0.2), (TWO, 0.4), (BOTH, 0.3)], [TWO]),
        ([(ONE, 0.2), (TWO, almost), (BOTH, 0.9)], [BOTH, TWO]),
        ([(ONE, less), (TWO, less)], [ONE]),
        ([(ONE, 2.0), (TWO, 0.1)], [ONE, ONE]),
        ([(ONE, 2.9999999), (TWO, 1.9)], [ONE, ONE, ONE][: module.AT_ONCE]),
        ([(ONE, 1.9)], [ONE]),
        ([(ONE, 40.0)], [ONE] * module.AT_ONCE),
        ([], []),
    ):
        assert module._greatest(parts, asked, gpus) == taken


def test_nobody_is_taken_too_often_and_no_gpu_that_is_not_there():
    once = problem([1.0, 1.0], [(1, 1), (1, 1)])
    assert module._greatest([(BOTH, 0.95), (ONE, 0.9), (TWO, 0.8)], once, {"A": 9}) == [BOTH]
    assert module._greatest([(ONE, 0.95), (BOTH, 0.9), (TWO, 0.8)], once, {"A": 9}) == [ONE, TWO]
    assert module._greatest([(ONE, 0.95), (TWO, 0.9)], once, {"A": 1}) == [ONE]


@pytest.mark.parametrize(("seed", "most"), [(1, (1,)), (2, (None,)), (3, (1, None, 3))])
def test_a_dive_gives_nobody_too_many_replicas_and_is_near_what_parts_are_worth(seed, most):
    """Property: on as many GPUs as there are; what is known is worth no less at its prices, by weak duality."""
    asked, gpus, known, near, plan = begun(seed, most)
    join_near_program(asked, gpus, known, near, deadline=inf)
    before = len(known)
    found = dived(asked, gpus, known, near, deadline=inf)
    assert len(known) >= before
    assert len(found) <= GPUS
    assert (sum(one.replicas(N) for one in found) <= asked.most).all()
    assert all(one in known.all() for one in found)
    filled = with_all(asked, ONES, found, known, near, deadline=inf)
    assert rank_of(asked, ONES, filled) >= rank_of(asked, ONES, found)
    assert (sum(one.replicas(N) for one in filled) <= asked.most).all()
    assert rank_of(asked, ONES, filled)[1] > 1.2 * rank_of(asked, ONES, plan)[1]
    assert all(near[0].of(one.gpu) == one for one in filled)


def test_without_time_nothing_is_taken():
    asked, gpus, known, near, plan = begun(1, (1,))
    assert dived(asked, gpus, known, near, deadline=time.monotonic()) == []
    lacking = plan[1:]
    assert with_all(asked, ONES, lacking, known, near, deadline=time.monotonic()) == lacking


@pytest.mark.parametrize("which", range(3))
def test_who_is_missing_joins_a_gpu_and_a_plan_that_serves_all_stays(which):
    """One of the services with least rates; where GPUs carry more than is asked for."""
    asked, gpus, known, near, _ = begun(1, (1,))
    join_near_program(asked, gpus, known, near, deadline=inf)
    plan = dived(asked, gpus, known, near, deadline=inf)
    assert asked.are_met_by(plan)
    assert with_all(asked, ONES, plan, known, near, deadline=inf) == plan
    w = int(asked.rate_rps.argsort()[which])
    gone = np.arange(N) == w
    lacking = [rest for one in plan if (rest := near[0].without(one, gone)) is not None]
    assert not asked.are_met_by(lacking)
    filled = with_all(asked, ONES, lacking, known, near, deadline=inf)
    assert asked.are_met_by(filled)
    assert len(filled) == len(lacking) <= gpus[near[0].gpu]
    changed = Counter(filled) - Counter(lacking)
    assert sum(changed.values()) == 1
    assert all(w in one.gpu.workloads and one in known.all() for one in changed)


def test_where_nobody_can_join_what_was_taken_stays():
    """A rate a hundred times as high is carried by no GPU."""
    asked, _, known, near, plan = begun(1, (None,))
    high = replace(asked, rate_rps=100 * asked.rate_rps, required_rps=100 * asked.required_rps)
    kept = with_all(high, ONES, plan[:1], known, near, deadline=time.monotonic() + 5.0)
    assert rank_of(high, ONES, kept) >= rank_of(high, ONES, plan[:1])
    assert len(kept) == 1


def test_contents_without_those_who_are_placed_are_known_then():
    asked, _, _, near, plan = begun(1, (1,))
    many = [one for one in plan if len(one.gpu.workloads) > 1]
    gone = np.zeros(N, dtype=bool)
    gone[many[0].gpu.workloads[0]] = True
    (left,) = module._without(near, plan, gone)
    assert set(left.gpu.workloads) == set(many[0].gpu.workloads) - {many[0].gpu.workloads[0]}
    assert module._without(near, plan, np.zeros(N, dtype=bool)) == []
    assert module._without(near, plan, np.ones(N, dtype=bool)) == []
    assert asked.least.sum() == N


def test_who_joins_brings_nobody_more_replicas_than_they_may_have():
    """The best content with both has two replicas of a workload that may have one."""
    first, once, twice = (content("A", r, n) for r, n in (([4, 0], [1, 0]), ([3, 3], [1, 1]), ([9, 9], [2, 1])))
    for one in (first, once, twice):
        one.gpu.workloads = tuple(np.flatnonzero(one.replicas(2)).tolist())
    fleet = [SimpleNamespace(has=lambda _: True, near=lambda *_: [twice, once])]
    known = SimpleNamespace(all=list, add=lambda _: None)
    weights = np.ones(2)
    asked = problem([1.0, 1.0], [(1, 1), (1, None)])
    assert with_all(asked, weights, [first], known, fleet, deadline=inf) == [once]
    loose = problem([1.0, 1.0], [(1, 2), (1, None)])
    assert with_all(loose, weights, [first], known, fleet, deadline=inf) == [twice]
