"""What cut GPUs are worth at prices, and numbers of them in the program: against every way to fill every cut."""

import time
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import CutGpu, MpsGpu, Resident, Segment
from sliceplan.solver.exact.shared_capacity.asked_rows import AskedRows
from sliceplan.solver.exact.shared_capacity.cut_gpus import CutGpus
from sliceplan.solver.exact.shared_capacity.program import best_mix, value_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid

SIZES = 3
CUTS = ((0,), (1, 1), (1, 2, 2))


def drawn(seed, workloads=4):
    """Returns GPUs with three cuts; of the services some may be there once, some carry nothing on some sizes."""
    draw = np.random.default_rng(seed)
    carried = np.array([4.0, 2.0, 1.0]) * draw.uniform(0.5, 1.5, (workloads, SIZES))
    carried[draw.random(carried.shape) < 0.2] = 0.0
    cuts = tuple(np.array(cut) for cut in CUTS)
    once = draw.random(workloads) < 0.5
    return CutGpus("A", carried, all_paid(workloads), once, cuts, np.array([7, 3, 1])), draw


def every_way(gpus):
    """Yields who has each partition of every cut, and nobody some, where nobody is there too often or in vain."""
    for cut in gpus.cuts:
        for whose in product([None, *range(len(gpus.once))], repeat=len(cut)):
            there = [(w, int(k)) for w, k in zip(whose, cut, strict=True) if w is not None]
            often = any(gpus.once[w] and [own for own, _ in there].count(w) > 1 for w, _ in there)
            if not often and all(gpus.capacity_rps[w, k] > 0 for w, k in there):
                yield there


def limit(gpus, price, charge, known=0.0):
    return gpus.limit(price, charge, known=known, gap=0.0, cells=1, deadline=time.monotonic())


@pytest.mark.parametrize("seed", range(30))
def test_the_limit_is_what_the_best_way_to_fill_a_cut_is_worth(seed):
    """Property: at prices of replicas above and below nothing."""
    gpus, draw = drawn(seed)
    price, charge = draw.uniform(0, 2, 4), draw.uniform(-2, 2, 4) * draw.integers(0, 2)
    most = max(sum(price[w] * gpus.capacity_rps[w, k] - charge[w] for w, k in there) for there in every_way(gpus))
    found = limit(gpus, price, charge)
    assert most <= found.limit <= max(most, 0.0) * (1 + 1e-8)
    worth = [one.worth(all_paid(4), price, charge) for one in found.contents]
    assert worth == sorted(worth, reverse=True)
    for one in found.contents:
        there = [(segment.workload, segment.size) for segment in one.gpu.segments]
        assert one.carried == tuple(gpus.capacity_rps[w, k] for w, k in there)
        assert sorted(there) in [sorted(way) for way in every_way(gpus)]


@pytest.mark.parametrize("seed", range(8))
def test_of_cpus_with_more_divisions_than_are_known_the_limit_is_that_of_partitions_alone(seed):
    """None is worth more than an even one at prices of partitions, whoever is there too often."""
    gpus, draw = drawn(seed)
    price, charge = draw.uniform(0, 2, 4), draw.uniform(-2, 2, 4)
    best = [
        max([0.0, *(price[w] * gpus.capacity_rps[w, k] - charge[w] for w in range(4) if gpus.capacity_rps[w, k])])
        for k in range(SIZES)
    ]
    known = replace(gpus, are_all=False)
    assert limit(known, price, charge).limit == pytest.approx(max(sum(best[k] for k in cut) for cut in CUTS))
    assert limit(known, price, charge).contents == limit(gpus, price, charge).contents


def test_units_of_a_cpu_are_parts_of_its_cores():
    profile = {
        "model": "small", "cpu": "EPYC-7763", "provenance": {"source": "made up", "method": "made up"},
        "points": [
            {"cores": cores, "batch": 1, "processes": 1, "latency_ms": 10, "throughput_rps": 5 * cores}
            for cores in (2, 16, 32, 64)
        ],
    }  # fmt: skip
    services = [{"name": "one", "model": "small", "rate_rps": 9, "slo_ms": 200}]
    fleet = [{"cpu": "EPYC-7763", "count": 1, "price_per_hour": 1.0}]
    data = {"version": 1, "name": "cores", "fleet": fleet, "workloads": services, "profiles": [profile]}
    resolved = resolve(Problem.model_validate(data), [])
    gpus = CutGpus.of_type(resolved, resolved.fleet[0], all_paid(len(resolved.required_rps)))
    assert gpus.carried_alone().tolist() == [[80.0, 0.0, 160.0, 0.0, 0.0, 0.0, 320.0]]


def test_what_is_known_is_worth_no_less_and_who_is_priced_out_is_nowhere():
    gpus, _ = drawn(3)
    price, charge = np.ones(4), np.array([np.inf, 0.0, 0.0, 0.0])
    assert limit(gpus, price, charge, known=1000.0).limit >= 1000.0
    assert all(0 not in one.gpu.workloads for one in limit(gpus, price, charge).contents)
    assert limit(gpus, price, np.full(4, np.inf)).contents == ()
    assert limit(gpus, price, np.full(4, np.inf)).limit == 0.0


def test_contents_are_of_their_type_and_way_and_lose_those_who_carry_nothing_there():
    gpus, _ = drawn(3)
    gpus.capacity_rps[:] = [[4, 2, 1], [4, 2, 0], [0, 2, 1], [4, 2, 1]]
    found = gpus.of(CutGpu("A", (Segment(2, 0), Segment(1, 1), Segment(2, 1))))
    assert (found.gpu.segments, found.carried) == ((Segment(1, 1), Segment(2, 0)), (2.0, 1.0))
    assert gpus.of(CutGpu("A", (Segment(0, 2),))) is None
    assert gpus.of(CutGpu("B", (Segment(2, 0),))) is None
    shared = MpsGpu("A", (Resident(0, 1, 50.0),))
    assert gpus.of(shared) is None
    assert gpus.has(found)
    assert not gpus.has(SimpleNamespace(gpu=shared))
    assert not gpus.has(SimpleNamespace(gpu=CutGpu("B", found.gpu.segments)))
    left = gpus.without(found, np.array([False, True, False, False]))
    assert left.gpu.segments == (Segment(2, 0),)
    assert gpus.without(found, np.array([True, True, False, False])) is None
    assert gpus.grown(found, np.ones(4), np.zeros(4)) is found


def test_units_are_compute_slices_and_those_with_one_replica_carry_all_of_their_rate():
    """Of A100s and two services with their shipped profiles."""
    services = [
        {"name": "one", "model": "resnet50", "rate_rps": 1200, "slo_ms": 200, "max_replicas": 1},
        {"name": "any", "model": "resnet50", "rate_rps": 1200, "slo_ms": 200},
    ]
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"], "count": 1}]
    problem = Problem.model_validate({"version": 1, "name": "cut", "fleet": fleet, "workloads": services})
    resolved = resolve(problem, shipped_profiles())
    gpus = CutGpus.of_type(resolved, resolved.fleet[0], all_paid(len(resolved.required_rps)))
    carried = {size.name: rps for size, rps in zip(resolved.sizes, resolved.capacity_rps[1].tolist(), strict=True)}
    alone = gpus.carried_alone()
    assert alone.shape == (2, 7)
    assert alone[1].tolist() == [
        carried["1g.10gb"], carried["2g.20gb"], carried["3g.40gb"], carried["4g.40gb"], 0.0, 0.0,
        carried["7g.80gb"],
    ]  # fmt: skip
    assert [rps for rps in alone[0].tolist() if rps] == [rps for rps in alone[1].tolist() if rps >= 1200]
    assert 0 < np.count_nonzero(alone[0]) < np.count_nonzero(alone[1])
    assert ["7g.80gb"] in [[resolved.sizes[k].name for k in cut] for cut in gpus.cuts]


def asked_of(rates, least, most):
    """Returns what services ask for."""
    rates, most = np.array(rates, dtype=float), np.array(most, dtype=float)
    return AskedRows(rates, rates, np.array(least, dtype=float), most, most == 1)


@pytest.mark.parametrize("seed", range(12))
def test_whole_numbers_of_cut_gpus_are_the_best_of_every_choice(seed):
    """Property: two GPUs, against every way to fill both; from nothing and from a poor choice."""
    gpus, draw = drawn(seed, 3)
    most = np.where(gpus.once, 1.0, draw.choice((2.0, np.inf), 3))
    weights, best, poor = draw.uniform(0.5, 2, 3), None, None
    rates = np.where(gpus.once, 1e-3, draw.choice((1e-3, 0.7, 2.0), 3))
    asked = asked_of(rates, [1, 1, 1], most)
    contents = [
        content
        for there in every_way(gpus)
        if (content := gpus.of(CutGpu("A", tuple(Segment(k, w) for w, k in there)))) is not None
    ]
    for first, second in product([None, *contents], repeat=2):
        pair = [one for one in (first, second) if one is not None]
        if asked.are_met_by(pair):
            value = value_of(weights, pair)
            best = value if best is None else max(best, value)
            poor = pair
    if poor is None:
        return
    for start in ([], poor):
        found = best_mix(asked, weights, [gpus], start, {"A": 2}, start, time_limit_s=20, gap=0.0)
        assert asked.are_met_by(found)
        assert len(found) <= 2
        assert value_of(weights, found) == pytest.approx(best, rel=1e-7)


def test_a_choice_to_begin_with_has_the_values_of_its_partitions(monkeypatch):
    """Told to the solver whole, so that the answer is no worse than what is known, whatever the time."""
    gpus, _ = drawn(5, 3)
    gpus.capacity_rps[:] = 1.0
    given = {}
    monkeypatch.setattr(
        "sliceplan.solver.exact.shared_capacity.program.run_highs",
        lambda *_, start, **__: given.update(start) or SimpleNamespace(has_primal_feasible_solution=lambda: False),
    )
    start = [gpus.of(CutGpu("A", (Segment(1, 0), Segment(2, 1), Segment(2, 1))))] * 2
    asked = asked_of([1, 1, 1], [0, 0, 0], [np.inf] * 3)
    assert best_mix(asked, np.ones(3), [gpus], [], {"A": 3}, start, time_limit_s=1, gap=0.0) is None
    assert sorted(value for value in given.values() if value) == [2.0, 2.0, 4.0]
