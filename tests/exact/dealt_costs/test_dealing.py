"""GPUs of several types dealt to services: who asks for which, and that each is told what its class is dealt."""

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from problems.igniter_instances import FLEET, V100
from problems.instances import problem_of

from sliceplan.solver.exact.dealt_costs import dealing as module
from sliceplan.solver.exact.dealt_costs.dealing import SAFE, Dealing, can_deal
from sliceplan.solver.exact.dealt_costs.resident_covers import LEVELS
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.performance.resolve import resolve

MEMORY_MIB = load_catalogue()[V100].memory_mib
# Two are alike. The memory of the last is just that of a GPU.
SERVICES = [
    {"model": "vgg19", "rate_rps": 300, "slo_ms": 40},
    {"model": "resnet50", "rate_rps": 200, "slo_ms": 30, "max_replicas": 1},
    {"model": "vgg19", "rate_rps": 100, "slo_ms": 50},
    {"model": "vgg19", "rate_rps": 300, "slo_ms": 40},
    {"model": "alexnet", "rate_rps": 50, "slo_ms": 60, "memory_mib": MEMORY_MIB},
]


class Told:
    """A search that deals each service its place, and a level's part of it."""

    made: ClassVar[list] = []

    def __init__(self, mps, asking):
        self.mps, self.asking, self.can_part, self.until = mps, asking, True, []
        Told.made.append(self)

    def run(self, until):
        self.until.append(until)

    def covers(self):
        levels = np.arange(LEVELS + 1) / LEVELS
        return SimpleNamespace(cost=(1.0 + self.asking.workload)[:, None] * levels)


@pytest.fixture
def told(monkeypatch):
    """Returns a function that makes the dealing of GPUs of two types, of which one hosts only some services."""
    monkeypatch.setattr(module, "DealSearch", Told)
    monkeypatch.setattr(Told, "made", [])

    def made(*, enough=None, usable=(True, True, False, True, False)):
        resolved = resolve(problem_of(SERVICES, fleet=FLEET), shipped_profiles())
        (mps,) = resolved.mps.values()
        other = replace(mps, usable=np.array(usable), memory_mib=MEMORY_MIB - 1)
        resolved = replace(resolved, mps={V100: mps, "another": other})
        return resolved, Dealing(resolved, enough)

    return made


def test_services_ask_for_the_types_that_can_host_them_once_a_class_in_order_of_kind_and_rate(told):
    enough = np.arange(10.0).reshape(5, 2)
    resolved, _ = told(enough=enough)
    first, second = (search.asking for search in Told.made)
    kind = resolved.mps[V100].kind
    for g, (asking, rows) in enumerate(((first, {0, 1, 2, 4}), (second, {0, 1}))):
        assert set(asking.workload.tolist()) == rows
        order = [(int(kind[w]), float(resolved.required_rps[w])) for w in asking.workload.tolist()]
        assert order == sorted(order)
        for place, w in enumerate(asking.workload.tolist()):
            assert asking.number[place] == (2 if w == 0 else 1)
            assert asking.enough[place] == enough[w, g]
            assert asking.limit_ms[place] == resolved.limit_ms[w]
            assert asking.rate_rps[place] == resolved.required_rps[w]
            assert asking.whole[place] == (w == 1)


def test_without_knowing_what_services_cost_elsewhere_they_ask_for_all():
    resolved = resolve(problem_of(SERVICES, fleet=FLEET), shipped_profiles())
    dealing = Dealing(resolved)
    assert not dealing.is_done
    rates = dealing.rates()
    assert rates.least.shape == (5, 1, LEVELS + 1)
    assert (rates.least[0] == rates.least[3]).all()


def test_what_a_class_is_dealt_is_that_of_each_of_its_services_less_rounding_and_elsewhere_nothing_can_be(told):
    _, dealing = told()
    least = dealing.rates().least
    assert least.shape == (5, 2, LEVELS + 1)
    assert (least[:, :, 0] == 0).all()
    of = [0, 1, 2, 0, 4]  # the first of each class
    for w in range(5):
        assert least[w, 0, 1:] == pytest.approx((1 + of[w]) * np.arange(1, LEVELS + 1) / LEVELS * SAFE, rel=1e-12)
        if w in (2, 4):
            assert np.isinf(least[w, 1, 1:]).all()
        else:
            assert least[w, 1].tolist() == least[w, 0].tolist()


def test_types_have_the_time_in_turn_and_all_are_done_when_none_can_part(told, monkeypatch):
    _, dealing = told()
    now = SimpleNamespace(monotonic=lambda: 10.0)
    monkeypatch.setattr(module, "time", now)
    dealing.improve(30.0)
    assert [search.until for search in Told.made] == [[20.0], [30.0]]
    assert not dealing.is_done
    Told.made[0].can_part = False
    assert not dealing.is_done
    Told.made[1].can_part = False
    assert dealing.is_done


def test_a_type_that_hosts_nobody_is_not_dealt(told):
    _, dealing = told(usable=(False,) * 5)
    assert len(Told.made) == 1
    dealing.improve(9.0)
    assert Told.made[0].until == [9.0]
    assert np.isinf(dealing.rates().least[:, 1, 1:]).all()
    Told.made[0].can_part = False
    assert dealing.is_done


@pytest.mark.parametrize(
    ("settings", "whole", "can"),
    [
        ({"mps_rules": "free"}, 0, True),
        ({"mps_rules": "free"}, 1, True),
        ({"mps_rules": "free"}, 2, False),
        ({"mps_rules": "igniter"}, 0, False),
        ({"mps_rules": "free", "latency": "percentile"}, 0, True),
    ],
)
def test_gpus_are_dealt_where_some_service_may_be_split(settings, whole, can):
    services = [{**one, "max_replicas": 1 if w < whole else None} for w, one in enumerate(SERVICES[:1] + SERVICES[2:3])]
    assert can_deal(resolve(problem_of(services, fleet=FLEET, **settings), shipped_profiles())) is can


def test_without_gpus_under_mps_none_are_dealt():
    services = [{"model": "vgg19", "rate_rps": 300, "slo_ms": 200}]
    assert can_deal(resolve(problem_of(services), shipped_profiles())) is False
