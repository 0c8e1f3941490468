"""Residents packed without a search: who may join a GPU, and what is done where someone does not fit."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import FLEET
from problems.instances import problem_of

from sliceplan.solver.exact.mps import packed_residents as module
from sliceplan.solver.exact.mps.packed_residents import (
    _fill,
    _Gpu,
    _Room,
    packed_on_each,
    packed_residents,
    packed_some,
)
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.alone import at_every_share
from sliceplan.solver.performance.igniter_rules import Demand, alone_units, demands
from sliceplan.solver.performance.resolve import resolve


def room_of(*asked, clients=3, memory=100.0, fits=lambda _: True):
    """Returns a room of demands, each as units alone and memory; `fits` tells which of them can be together."""
    known = [
        SimpleNamespace(workload=w, batch=1, least_units=units, memory_mib=mib) for w, (units, mib) in enumerate(asked)
    ]
    mps = SimpleNamespace(
        gpu="x", clients=clients, capacity_units=10, memory_mib=memory, percent_of=lambda units: 10.0 * units
    )

    class Told(_Room):
        def together(self, gpus, joining):
            sets = [[*gpu.residents, one] for gpu, one in zip(gpus, joining, strict=True)]
            units = [[self.asked[one].least_units for one in members] + [0] for members in sets]
            longest = max(map(len, units))
            padded = np.array([one + [0] * (longest - len(one)) for one in units])
            return padded, np.array(
                [sum(one) <= 10 and fits(members) for one, members in zip(units, sets, strict=True)]
            )

    return Told(mps, known)


@pytest.mark.parametrize(
    ("gpu", "waiting", "at"),
    [
        # The largest that the units leave room for.
        (_Gpu([3], [4], 10), [0, 1, 2], 2),
        (_Gpu([3], [5], 10), [0, 1, 2], 1),
        (_Gpu([3], [4], 5), [0, 1, 2], 1),
        (_Gpu([3], [9], 10), [0, 1, 2], None),
        (_Gpu([3], [4], 10), [], None),
        # One less large where the memory is too small for it; just enough is enough.
        (_Gpu([4], [1], 10), [0, 1, 2], 1),
        (_Gpu([5], [1], 10), [0, 1, 2], None),
        # As many as there may be.
        (_Gpu([3, 3, 3], [1, 1, 1], 10), [0, 1, 2], None),
        (_Gpu([3, 3], [1, 1], 10), [0, 1, 2], 2),
    ],
)
def test_the_largest_joins_that_there_is_room_for(gpu, waiting, at):
    room = room_of((2, 10.0), (5, 40.0), (6, 90.0), (4, 0.0), (1, 60.0), (1, 95.0))
    assert room.candidate(gpu, waiting) == at


def test_who_does_not_fit_waits_again_and_the_gpu_takes_smaller_ones_only():
    """Each of two GPUs tries the largest; what one of them cannot take the other may."""
    room = room_of((2, 0.0), (3, 0.0), (5, 0.0), (5, 0.0), (4, 0.0), fits=lambda members: members != [3, 2])
    first, second = _Gpu([3], [5], 10), _Gpu([4], [4], 10)
    waiting = [0, 1, 2]
    _fill(room, [first, second], waiting)
    assert (first.residents, first.units, first.largest) == ([3, 0], [5, 2], 4)
    assert (second.residents, second.units) == ([4, 1], [4, 3])
    assert waiting == [2]


def test_all_that_is_open_takes_what_it_can():
    room = room_of((2, 0.0), (7, 0.0), (3, 0.0), (8, 0.0), (1, 0.0))
    gpus = [_Gpu([3], [8], 10), _Gpu([1], [7], 10)]
    waiting = [4, 0, 2]
    _fill(room, gpus, waiting)
    assert [gpu.residents for gpu in gpus] == [[3, 0], [1, 2]]
    assert waiting == [4]


def test_a_type_that_cannot_host_everybody_or_of_which_nobody_takes_any_has_no_gpus(monkeypatch):
    packed = {"x": ["gpu"], "y": None, "z": []}
    monkeypatch.setattr(module, "packed_residents", lambda _, mps: packed[mps])
    assert packed_on_each(SimpleNamespace(mps={name: name for name in packed})) == [["gpu"]]


class Sharing:
    """GPUs of 10 units on which a resident needs one unit more beside each neighbour than alone, and 3 fit at most."""

    gpu, clients, capacity_units, memory_mib = "x", 3, 10, 100.0

    def __init__(self, alone):
        self.alone = np.array(alone)

    def percent_of(self, units):
        return 10.0 * units

    def least_shares(self, workload, batch, limit, required, *, start):
        here = workload >= 0
        assert (batch[here] == 1 + workload[here]).all()
        assert (limit[here] == 20.0 + workload[here]).all()
        assert (required[here] == 30.0 + workload[here]).all()
        units = np.where(here, self.alone[workload] + here.sum(axis=1, keepdims=True) - 1, 0)
        return np.maximum(units, np.where(here, start, 0)), units.sum(axis=1) <= self.capacity_units


@pytest.mark.parametrize("seed", range(6))
def test_all_are_packed_with_what_they_need_together_and_no_gpu_has_room_for_another_alone(seed):
    draw = Random(seed)
    alone = [draw.randint(1, 10) for _ in range(draw.randint(1, 8))]
    mps = Sharing(alone)
    asked = [
        Demand(w, 1 + w, 20.0 + w, 30.0 + w, units, draw.choice([0.0, 40.0, 100.0])) for w, units in enumerate(alone)
    ]
    gpus = module._packed(mps, asked)
    assert sorted(w for gpu in gpus for w in gpu.workloads) == list(range(len(alone)))
    sets = [[one.workload for one in gpu.residents] for gpu in gpus]
    for gpu, members in zip(gpus, sets, strict=True):
        assert gpu.gpu == "x"
        assert len(members) <= 3
        assert sum(asked[w].memory_mib for w in members) <= 100
        assert [one.batch for one in gpu.residents] == [1 + w for w in members]
        assert [one.percent for one in gpu.residents] == [10.0 * (alone[w] + len(members) - 1) for w in members]
        assert sum(one.percent for one in gpu.residents) <= 100
    # The first has the largest; as many are opened at once as all would fill, and these are the largest ones.
    opened = -(-sum(alone) // 10)
    assert sorted((alone[one[0]] for one in sets[:opened]), reverse=True) == sorted(alone, reverse=True)[:opened]
    # Who opened a later GPU, or joined it, had no room on an earlier one.
    for late in range(opened, len(sets)):
        w = sets[late][0]
        for early in sets[:opened]:
            together = [*early, w]
            units = sum(alone[one] for one in together) + len(together) * (len(together) - 1)
            assert units > 10 or len(together) > 3 or sum(asked[one].memory_mib for one in together) > 100


def test_no_demands_take_no_gpus():
    assert module._packed(Sharing([1]), []) == []


LARGE = {"model": "vgg19", "rate_rps": 900, "slo_ms": 40}
SMALL = {"model": "alexnet", "rate_rps": 100, "slo_ms": 30}


def resolved_of(*workloads, **settings):
    problem = problem_of(workloads, fleet=FLEET, **settings)
    return resolve(problem, shipped_profiles())


def carries_alone(mps, w, limit_ms, rate):
    """Tells whether some share and batch size alone on a GPU carries a rate within a limit."""
    every = at_every_share(mps, w)
    return bool(((every.latency_ms <= limit_ms) & (every.throughput_rps >= rate)).any())


@pytest.mark.parametrize("least", [1, 2, 3, 5])
@pytest.mark.parametrize("others", [[], [SMALL], [SMALL, LARGE]])
def test_a_rate_is_in_as_few_equal_parts_as_it_may_have_and_needs(least, others):
    """The oracle looks at every share and batch size alone."""
    resolved = resolved_of({**LARGE, "min_replicas": least}, *others)
    mps = resolved.mps["V100-SXM2-16GB"]
    residents = module._freely_demanded(resolved, mps)
    for w, workload in enumerate(resolved.problem.workloads):
        own = [one for one in residents if one.workload == w]
        rate, limit = float(resolved.required_rps[w]), float(resolved.limit_ms[w])
        number = workload.min_replicas
        while not carries_alone(mps, w, limit, rate / number):
            number += 1
        assert len(own) == number
        for one in own:
            assert one.required_rps == pytest.approx(rate / number)
            assert (one.limit_ms, one.memory_mib) == (limit, mps.demand_mib[w])
            units = [
                int(alone_units(mps, *(np.array([x]) for x in (w, batch, limit, rate / number)))[0][0])
                for batch in mps.batches[w].tolist()
            ]
            assert one.least_units == min(units) == units[mps.batches[w].tolist().index(one.batch)]


def test_more_parts_than_may_be_and_what_is_too_slow_are_hosted_by_nobody():
    """Either may be one of several services; the number of parts that is just allowed is."""
    needed = len(module._freely_demanded(resolved_of(LARGE), resolved_of(LARGE).mps["V100-SXM2-16GB"]))
    assert needed > 1
    for most, is_hosted in ((needed - 1, False), (needed, True)):
        resolved = resolved_of(SMALL, {**LARGE, "max_replicas": most}, SMALL)
        gpus = packed_residents(resolved, resolved.mps["V100-SXM2-16GB"])
        assert (gpus is not None) == is_hosted
    for workloads in ([SMALL, {**LARGE, "slo_ms": 1}], [{**LARGE, "slo_ms": 1}, LARGE], [{**SMALL, "memory_mib": 1e6}]):
        resolved = resolved_of(*workloads)
        assert packed_residents(resolved, resolved.mps["V100-SXM2-16GB"]) is None
        assert packed_on_each(resolved) == []
        last = np.array([len(workloads) - 1])
        alone = packed_some(resolved, last, "V100-SXM2-16GB")
        assert (alone is None) == (workloads[-1] != LARGE)


@pytest.mark.parametrize("rules", ["free", "igniter"])
def test_some_of_the_services_keep_their_numbers(rules):
    resolved = resolved_of(SMALL, LARGE, {**SMALL, "rate_rps": 200}, mps_rules=rules)
    gpus = packed_some(resolved, np.array([1, 2]), "V100-SXM2-16GB")
    assert {w for gpu in gpus for w in gpu.workloads} == {1, 2}
    for gpu in gpus:
        assert sum(one.percent for one in gpu.residents) <= 100


def test_under_igniters_rules_gpus_of_a_service_alone_come_beside_those_that_are_shared():
    resolved = resolved_of(SMALL, {**LARGE, "rate_rps": 2500}, mps_rules="igniter")
    mps = resolved.mps["V100-SXM2-16GB"]
    asked = demands(resolved, mps)
    gpus = packed_residents(resolved, mps)
    alone = [gpu for gpu in gpus if gpu.workloads == (1,)]
    assert len(asked.dedicated) > 1
    assert len(alone) >= len(asked.dedicated)
    for gpu, one in zip(gpus, asked.dedicated, strict=False):
        assert [(r.workload, r.batch, r.percent) for r in gpu.residents] == [
            (1, one.batch, mps.percent_of(one.least_units))
        ]
    assert sorted(w for gpu in gpus[len(asked.dedicated) :] for w in gpu.workloads) == [0, 1]
    too_slow = resolved_of(SMALL, {**LARGE, "slo_ms": 1}, mps_rules="igniter")
    assert packed_residents(too_slow, too_slow.mps["V100-SXM2-16GB"]) is None


@pytest.mark.parametrize(
    ("required", "most", "parts"),
    [
        # A GPU carries half a request per second of either.
        ([0.5, 0.5], [None, None], [1, 1]),
        ([1.2, 0.5], [None, None], [3, 1]),
        ([1.2, 1.5], [3, 3], [3, 3]),
        ([1.2, 1.5], [3, 2], None),
        ([0.1, 0.5 * (1 + 1e-12)], [1, 1], [1, 1]),
    ],
)
def test_rates_below_one_are_split_as_others_are(monkeypatch, required, most, parts):
    ones = np.ones(2, dtype=np.int64)
    workloads = [SimpleNamespace(min_replicas=1, max_replicas=number) for number in most]
    resolved = SimpleNamespace(
        problem=SimpleNamespace(workloads=workloads), limit_ms=np.ones(2), required_rps=np.array(required)
    )
    monkeypatch.setattr(module, "least_share_batches", lambda _, own, *__: ones[: len(own)])
    monkeypatch.setattr(module, "alone_on", lambda *_: SimpleNamespace(greatest_rps=np.array([0.5, 0.5])))
    monkeypatch.setattr(module, "alone_units", lambda *given: (7 * given[2], given[4] <= 0.5 + 1e-6))
    mps = SimpleNamespace(demand_mib=np.zeros(2))
    found = module._freely_demanded(resolved, mps)
    if parts is None:
        assert found is None
    else:
        assert [one.workload for one in found] == [0] * parts[0] + [1] * parts[1]
    # Who fits at no rate is hosted by nobody, be there others who do.
    monkeypatch.setattr(module, "alone_units", lambda *given: (7 * given[2], given[1] == 1))
    assert module._freely_demanded(resolved, mps) is None
