"""Which mixtures are handed on: the one of fewest partitions where it costs no more, and the cheapest."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.whole_gpus import mixed_demand
from sliceplan.solver.exact.whole_gpus.mixed_demand import MixedDemand, _Directions, mixed_demands

PROVEN = SimpleNamespace(
    covers=SimpleNamespace(counts=np.array([[1, 0], [0, 2], [3, 1]]), members=np.array([2, 5])),
    prices=SimpleNamespace(gpu_cost=np.array([10])),
    to_waste=lambda _steps: 0,
)


def mixture(steps, *covers):
    """Returns a mixture in which the two groups take these covers."""
    return MixedDemand(np.zeros(1, dtype=np.int64), steps, np.ones(1), np.array([covers]))


def test_partitions_are_those_of_all_members_by_their_parts():
    assert mixture(1, 0, 1).partitions(PROVEN) == 2 * 1 + 5 * 2
    half = MixedDemand(np.zeros(1), 1, np.array([0.25, 0.75]), np.array([[0, 1], [2, 0]]))
    assert half.partitions(PROVEN) == pytest.approx(0.25 * 12 + 0.75 * (2 * 4 + 5 * 1))


BEST, FEWER, SAME, DEARER = mixture(20, 0, 1), mixture(20, 0, 0), mixture(20, 0, 1), mixture(21, 0, 0)


@pytest.mark.parametrize(
    ("best", "fewest", "found"),
    [
        (BEST, FEWER, [FEWER, BEST]),
        (BEST, SAME, [BEST]),
        (BEST, DEARER, [BEST]),
        (BEST, None, [BEST]),
        (None, FEWER, []),
    ],
)
def test_fewer_partitions_come_first_where_they_cost_no_more(monkeypatch, best, fewest, found):
    of_programs(monkeypatch, best, fewest)
    assert list(mixed_demands(None, PROVEN, 20)) == found


@pytest.mark.parametrize(("steps", "found"), [(22, [mixture(22, 0, 0), mixture(22, 0, 1)]), (23, [mixture(23, 0, 1)])])
def test_in_haste_the_fewest_partitions_are_looked_for_only_near_the_least_cost(monkeypatch, steps, found):
    # 20 % of the GPU's 10 steps above 20 are near enough.
    of_programs(monkeypatch, mixture(steps, 0, 1), mixture(steps, 0, 0))
    mixtures = mixed_demands(None, PROVEN, 20, hasty=True)
    assert [(one.steps, one.taken.tolist()) for one in mixtures] == [(one.steps, one.taken.tolist()) for one in found]


@pytest.mark.parametrize(("fewest", "found"), [(FEWER, [FEWER]), (DEARER, []), (None, [])])
def test_where_its_cost_was_found_before_only_fewer_partitions_are_looked_for(monkeypatch, fewest, found):
    of_programs(monkeypatch, None, fewest)
    assert list(mixed_demands(None, PROVEN, 20, found_before=True)) == found


def of_programs(monkeypatch, best, fewest):
    """Lets the programs find these mixtures."""

    def whole(*_, fewest_partitions=False, **__):
        return fewest if fewest_partitions else best

    monkeypatch.setattr(mixed_demand, "_Directions", lambda _: SimpleNamespace(add=lambda *_: False))
    monkeypatch.setattr(mixed_demand, "_first_directions", lambda *_, **__: ())
    monkeypatch.setattr(mixed_demand, "_scarcity", lambda *_: (0.0, None))
    monkeypatch.setattr(mixed_demand, "_whole", whole)


@pytest.mark.parametrize("seed", range(10))
def test_a_vertex_is_least_in_its_direction_of_all_choices_that_are_no_dearer(seed):
    """Property: whatever was allowed before; of three groups every choice of covers."""
    draw = np.random.default_rng(seed)
    owner = np.repeat([0, 1, 2], draw.integers(2, 4, 3))
    counts, members = draw.integers(0, 5, (len(owner), 3)), draw.integers(1, 4, 3)
    reduced = draw.integers(1, 6, len(owner))
    reduced[np.searchsorted(owner, [0, 1, 2])] = 0
    covers = SimpleNamespace(counts=counts, owner=owner, members=members)
    found = _Directions(SimpleNamespace(covers=covers, reduced=reduced))
    known = set()
    for dearer in (0, 2, 5, 2, 0, 9):
        direction = draw.standard_normal(3)
        rows = [np.flatnonzero((owner == group) & (reduced <= dearer)) for group in range(3)]
        demands = [members @ counts[list(chosen)] for chosen in product(*rows)]
        least = min(demands, key=lambda demand: float(demand @ direction))
        assert found.add(direction, dearer) == (tuple(least.tolist()) not in known)
        known.add(tuple(least.tolist()))
        assert {tuple(one.tolist()) for one in found.demand} == known
    for taken, demand in zip(found.taken, found.demand, strict=True):
        assert owner[taken].tolist() == [0, 1, 2]
        assert (members @ counts[taken] == demand).all()
    assert not found.add(None, 0)
