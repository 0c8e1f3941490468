"""Whether one GPU holds all services: never ruled out where one does, by GPUs that problems are made of."""

import random
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from problems.igniter_instances import FLEET, MODELS, random_mps_problem
from problems.instances import problem_of
from problems.planted_gpus import planted, promised

from sliceplan.solver.api import solve
from sliceplan.solver.exact.dealt_costs import boxes as boxes_module
from sliceplan.solver.exact.dealt_costs import one_gpu as module
from sliceplan.solver.exact.dealt_costs.dealing import asking_of
from sliceplan.solver.exact.dealt_costs.one_gpu import holds_not_all
from sliceplan.solver.exact.mps.items import classes_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

PROFILES = shipped_profiles()


def asked(problem):
    resolved = resolve(problem, PROFILES)
    (mps,) = resolved.mps.values()
    return mps, asking_of(resolved, mps, classes_of(resolved))[1]


def soon(seconds=20.0):
    return time.monotonic() + seconds


@pytest.mark.parametrize(
    "made", [planted, promised, partial(promised, dispatch="random", quantile=0.99), partial(promised, quantile=0.999)]
)
def test_a_gpu_that_holds_all_is_never_ruled_out(made):
    """Property: its residents are at their limits, and a service's may be several; a little more is often ruled out."""
    ruled_out = 0
    for seed in range(10):
        problem, _ = made(seed, most_gpus=1)
        if not problem.workloads:
            continue
        mps, asking = asked(problem)
        assert not holds_not_all(mps, asking, soon(0.3)), seed
        promise = asking.promise
        if promise is not None:
            promise = replace(promise, asked=replace(promise.asked, rate_rps=1.2 * promise.asked.rate_rps))
        ruled_out += holds_not_all(mps, replace(asking, rate_rps=1.2 * asking.rate_rps, promise=promise), soon(0.3))
    assert ruled_out >= 1


def test_whole_services_that_no_gpu_holds_are_ruled_out_as_the_program_over_all_sets_does():
    """Of services with one resident each that program decides; alike ones count as often as there are any."""
    agreed = 0
    for seed in range(10):
        draw = random.Random(seed)
        services = [one.model_dump(mode="json") for one in random_mps_problem(draw.randint(2, 5), seed).workloads]
        problem = problem_of([*services, {**services[0], "name": "again"}], fleet=FLEET)
        mps, asking = asked(problem)
        needed = solve(problem, profiles=PROFILES, time_limit_s=60)
        assert needed.status == "optimal"
        ruled_out = holds_not_all(mps, asking, soon(0.3))
        assert not (ruled_out and needed.gpus_used == 1), seed
        agreed += ruled_out and needed.gpus_used > 1
    assert agreed >= 1


def test_a_box_as_narrow_as_can_be_is_not_ruled_out_by_being_parted_no_more(monkeypatch):
    problem, _ = planted(3, most_gpus=1)
    mps, asking = asked(problem)
    monkeypatch.setattr(boxes_module, "NARROWEST", np.inf)
    assert not holds_not_all(mps, asking, soon())


def test_without_time_or_with_too_many_boxes_nothing_is_ruled_out(monkeypatch):
    services = [{"name": m, "model": m, "slo_ms": 40, "rate_rps": 900} for m in MODELS]
    mps, asking = asked(problem_of(services, fleet=FLEET))
    assert holds_not_all(mps, asking, soon())
    assert not holds_not_all(mps, asking, time.monotonic() - 1.0)
    monkeypatch.setattr(module, "MOST_BOXES", 10)
    assert not holds_not_all(mps, asking, soon())


def test_weights_are_fair_and_each_thing_is_tried_by_itself():
    for number in (2, 3, 4, 5):
        tried = np.array(module._weights(number))
        assert (tried >= 0).all()
        assert tried.sum(axis=1) == pytest.approx(1.0)
        assert {tuple(one) for one in np.eye(number)} <= {tuple(one) for one in tried}
