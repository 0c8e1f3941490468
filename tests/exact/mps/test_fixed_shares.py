"""Residents that keep their shares, by the scalar equations: what they carry, and the least share of who joins."""

import random
from dataclasses import replace

import numpy as np
import pytest
from oracles import igniter_scalar
from problems.igniter_instances import COEFFICIENTS, GPU, MODELS, random_mps_problem

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.mps.fixed_shares import carried_rps, has_room, least_resident
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

BATCHES = np.array([1, 3, 8])


def drawn(seed):
    """Returns a problem, and a GPU with some of its services, which may be too slow there."""
    problem, draw = random_mps_problem(6, seed), random.Random(seed)
    resolved = resolve(problem, shipped_profiles())
    members = draw.sample(range(6), k=draw.randint(1, 4))
    residents = tuple(Resident(w, draw.choice((1, 3, 8)), 2.5 * draw.randint(2, 9)) for w in members)
    return resolved, MpsGpu("V100-SXM2-16GB", residents)


def carried(resolved, residents):
    """Returns what each resident carries, one at a time; 0: it is too slow."""
    kinds = [COEFFICIENTS[MODELS.index(resolved.problem.workloads[one.workload].model)] for one in residents]
    figures = igniter_scalar.predict(
        GPU, [(kind, one.batch, one.percent) for kind, one in zip(kinds, residents, strict=True)]
    )
    limits = [resolved.problem.workloads[one.workload].slo_ms / 2 for one in residents]
    return [
        own.throughput_rps if own.latency_ms <= limit * (1 + 1e-9) else 0.0
        for own, limit in zip(figures, limits, strict=True)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_residents_carry_what_the_equations_say_at_their_shares(seed):
    resolved, gpu = drawn(seed)
    other = drawn(seed + 100)[1]
    found = carried_rps(resolved, [gpu, other])
    for one, own in zip((gpu, other), found, strict=True):
        assert own.tolist() == pytest.approx(carried(resolved, one.residents))


@pytest.mark.parametrize("part", [1.0, 0.4])
def test_who_joins_has_the_smallest_share_with_which_all_carry_their_rates(part):
    """Property: by trying each batch size and each number of units that is left."""
    joined = 0
    for seed in range(40):
        resolved, gpu = drawn(seed)
        required = resolved.required_rps.tolist()
        room = 40 - sum(round(one.percent / 2.5) for one in gpu.residents)
        for w in set(range(6)) - set(gpu.workloads):
            fits = [
                units
                for units in range(1, room + 1)
                for batch in BATCHES.tolist()
                if all(
                    rate >= (part if one.workload == w else 1.0) * required[one.workload] * (1 - 1e-9)
                    for one, rate in zip(
                        (*gpu.residents, Resident(w, batch, units * 2.5)),
                        carried(resolved, (*gpu.residents, Resident(w, batch, units * 2.5))),
                        strict=True,
                    )
                )
            ]
            found = least_resident(resolved, gpu, w, BATCHES, part)
            assert (found is None) is (not fits), (seed, w)
            if found is not None:
                joined += 1
                assert found.percent == pytest.approx(2.5 * min(fits))
                assert found.batch in BATCHES
                own = (*gpu.residents, found)
                assert carried(resolved, own)[-1] >= part * required[w] * (1 - 1e-9)
    assert joined >= 5


def test_a_gpu_has_room_for_its_units_its_memory_and_its_clients():
    resolved, _ = drawn(0)
    (mps,) = resolved.mps.values()
    full = MpsGpu(mps.gpu, tuple(Resident(w, 1, 20.0) for w in range(5)))
    assert has_room(mps, full)
    assert not has_room(mps, MpsGpu(mps.gpu, (*full.residents, Resident(5, 1, 2.5))))
    assert not has_room(replace(mps, clients=4), full)
    assert not has_room(replace(mps, memory_mib=4.0, demand_mib=np.ones(6)), full)
    assert has_room(replace(mps, memory_mib=5.0, demand_mib=np.ones(6)), full)
    assert least_resident(resolved, full, 5, BATCHES) is None
    assert least_resident(resolved, MpsGpu(mps.gpu, ()), 5, np.zeros(0, dtype=np.int64)) is None
