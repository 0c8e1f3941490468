"""Batches and shares chosen anew: against an enumeration of all of them for one small GPU, by other code."""

from itertools import product

import numpy as np
import pytest
from oracles import igniter_scalar
from problems.igniter_instances import COEFFICIENTS, GPU, MODELS, V100
from problems.instances import problem_of

from sliceplan.solver.allocation.adjusted_batches import judge_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.inss.batch_decision import scan
from sliceplan.solver.performance.batch_adjustment import Shares, adjusted
from sliceplan.solver.performance.resolve import resolve

UNIT, UNITS = 2.5, 40
SIZES = (1, 2, 4, 8, 16)


def drawn(seed, residents=2, taken=34):
    """Returns a problem of some services, and shares and small batches with which each is in time on one V100."""
    draw = np.random.default_rng(seed)
    models = draw.choice(4, residents)
    cuts = np.sort(draw.choice(np.arange(4, taken - 3), residents - 1, replace=False))
    units = np.diff([0, *cuts, taken])
    batch = draw.choice([1, 2], residents)
    figures = igniter_scalar.predict(
        GPU, [(COEFFICIENTS[m], int(b), UNIT * int(u)) for m, b, u in zip(models, batch, units, strict=True)]
    )
    services = [
        {
            "model": MODELS[m],
            "slo_ms": 2 * one.latency_ms * draw.uniform(1.05, 3),
            "rate_rps": one.throughput_rps * draw.uniform(0.3, 0.95),
            "batch_sizes": SIZES,
        }
        for m, one in zip(models, figures, strict=True)
    ]
    return problem_of(services, fleet=[{"gpu": V100, "sharing": ["mps"]}], bda=True), models, batch, units


def counted(problem, models, batch, units, weights):
    """Returns what residents count by the equations, one number at a time; None: one is late or too slow."""
    figures = igniter_scalar.predict(
        GPU, [(COEFFICIENTS[m], int(b), UNIT * int(u)) for m, b, u in zip(models, batch, units, strict=True)]
    )
    for one, workload in zip(figures, problem.workloads, strict=True):
        if one.latency_ms > workload.slo_ms / 2 * (1 + 1e-9) or one.throughput_rps < workload.rate_rps * (1 - 1e-9):
            return None
    return sum(weight * one.throughput_rps for weight, one in zip(weights, figures, strict=True))


def enumerated(problem, models, units, weights):
    """Returns the most that any batches count, with these units or any more that are left."""
    left = UNITS - sum(units)
    mores = [more for more in product(range(left + 1), repeat=len(units)) if sum(more) <= left]
    every = (
        counted(problem, models, batch, np.add(units, more), weights)
        for more in mores
        for batch in product(SIZES, repeat=len(units))
    )
    return max(value for value in every if value is not None)


def adjust(problem, batch, units, weights):
    resolved = resolve(problem, shipped_profiles())
    mps = resolved.mps[V100]
    rates = np.array([one.rate_rps for one in problem.workloads])
    shares = Shares(np.arange(len(units)), np.asarray(batch), np.asarray(units))
    found = adjusted(mps, shares, rates, np.asarray(weights, dtype=float), judge_of(resolved, mps)).shares
    return found.batch, found.units


def test_the_best_of_all_batches_and_shares_in_nearly_every_case_and_never_above_it():
    """
    Oracle: all batches, and all ways to deal what is left, by the equations written one number at a time.

    Of 60 draws of two residents all reach the best. It is a local optimum, so one in 24 may stay below.
    """
    reached = [value_and_best(seed) for seed in range(24)]
    assert all(value <= best * (1 + 1e-9) for value, best in reached)
    assert min(value / best for value, best in reached) >= 0.9
    assert sum(value >= best * (1 - 1e-9) for value, best in reached) >= 23


def value_and_best(seed):
    problem, models, batch, units = drawn(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 4, len(units)) if seed % 2 else np.ones(len(units))
    before = counted(problem, models, batch, units, weights)
    new_batch, new_units = adjust(problem, batch, units, weights)
    value = counted(problem, models, new_batch, new_units, weights)
    best = enumerated(problem, models, units, weights)
    assert before is not None
    assert value is not None, "someone is late or loses its rate"
    assert np.all(new_units >= units)
    assert new_units.sum() <= UNITS
    return value, best


@pytest.mark.parametrize("seed", range(100, 106))
def test_no_other_batch_and_no_unit_that_is_left_is_better(seed):
    """Oracle: every single change, by the same equations; among three residents."""
    problem, models, batch, units = drawn(seed, residents=3)
    new_batch, new_units = adjust(problem, batch, units, np.ones(3))
    value = counted(problem, models, new_batch, new_units, np.ones(3))
    for resident, size, more in product(range(3), SIZES, range(UNITS - sum(new_units) + 1)):
        other, wider = new_batch.copy(), new_units.copy()
        other[resident], wider[resident] = size, wider[resident] + more
        if wider.sum() <= UNITS:
            tried = counted(problem, models, other, wider, np.ones(3))
            assert tried is None or tried <= value * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(200, 206))
def test_alone_on_its_share_the_batch_is_that_of_the_scan(seed):
    """Oracle: InSS' search of a batch in the form that looks at all of them; with all units taken nothing is dealt."""
    problem, models, batch, _ = drawn(seed, residents=1, taken=UNITS)
    (workload,) = problem.workloads
    alone = [igniter_scalar.predict(GPU, [(COEFFICIENTS[models[0]], b, 100.0)])[0] for b in SIZES]
    in_time = np.array([one.latency_ms <= workload.slo_ms / 2 for one in alone])
    decided = scan(in_time, np.array([one.throughput_rps for one in alone]), workload.rate_rps)
    new_batch, _ = adjust(problem, batch, [UNITS], [1.0])
    assert new_batch[0] == SIZES[decided.batch - 1]
