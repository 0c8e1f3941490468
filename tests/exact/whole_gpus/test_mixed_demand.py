"""Which mixtures are handed on: the one of fewest partitions where it costs no more, and the cheapest."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.dual.supply import Supply
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


def vertices(demand, gpu_cost):
    """Returns directions in which these vertices were found, each of which takes a cover of its number."""
    proven = SimpleNamespace(prices=SimpleNamespace(gpu_cost=np.array(gpu_cost)))
    return SimpleNamespace(demand=list(demand), taken=[np.array([i]) for i in range(len(demand))], proven=proven)


def carried(room, first, second):
    """Returns from where to where the second of two vertices may be mixed in, so that there is room; None: nowhere."""
    low, high = 0.0, 1.0
    for there, a, b in zip(room, first, second, strict=True):
        if b > a:
            high = min(high, (there - a) / (b - a))
        elif b < a:
            low = max(low, (a - there) / (a - b))
        elif there < a:
            return None
    return (low, high) if low <= high else None


def drawn_gpus(draw):
    cuts = np.array([[2, 0], [1, 1], [0, 2]])
    cost = draw.integers(2, 6, 3)
    supply = Supply(cuts, np.array([0, 0, 1]), cost.astype(float), np.array([draw.choice([2.0, np.inf]), np.inf]))
    return supply, vertices(draw.integers(0, 9, (2, 2)), cost)


@pytest.mark.parametrize("seed", range(12))
def test_whole_gpus_carry_their_mixture_and_none_are_cheaper_or_have_fewer_partitions(seed):
    """By all numbers of each cut, of which it is told by hand whether they carry a mixture of two vertices."""
    supply, found = drawn_gpus(np.random.default_rng(seed))
    of_cost = {}
    for times in product(range(11), repeat=3):
        if times[0] + times[1] <= supply.available[0]:
            mixed = carried(np.array(times) @ supply.instances, *found.demand)
            if mixed is not None:
                number = [float(one.sum()) for one in found.demand]
                fewest = min((1 - t) * number[0] + t * number[1] for t in mixed)
                steps = int(np.array(times) @ found.proven.prices.gpu_cost)
                of_cost[steps] = min(fewest, of_cost.get(steps, np.inf))
    if not of_cost:  # too few of the type that alone has the first size
        assert mixed_demand._whole(supply, found, 0) is None
        assert mixed_demand._scarcity(supply, found) == (np.inf, None)
        return
    least = min(of_cost)
    for at_least in (0, least, least + 1):
        cheapest = mixed_demand._whole(supply, found, at_least)
        assert cheapest.steps == min(steps for steps in of_cost if steps >= at_least)
        fewest = mixed_demand._whole(supply, found, cheapest.steps, fewest_partitions=True)
        for one in (cheapest, fewest):
            assert one.steps == cheapest.steps == one.cuts @ found.proven.prices.gpu_cost
            assert one.part.sum() == pytest.approx(1)
            mixture = one.part @ np.array(found.demand)[one.taken[:, 0]]
            assert (one.cuts @ supply.instances >= mixture - 1e-5).all()
            assert one.cuts[:2].sum() <= supply.available[0]
        assert mixture.sum() <= of_cost[cheapest.steps] * (1 + mixed_demand.FEW_ENOUGH) + 1e-5


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_gpus_cost_what_scarce_sizes_say_of_every_vertex(seed):
    """Duality: no cut is worth more than it costs, and the vertices are worth the cost at least, less rents."""
    supply, found = drawn_gpus(np.random.default_rng(seed))
    least, scarcity = mixed_demand._scarcity(supply, found)
    if scarcity is None:
        assert supply.available[0] == 2.0
        return
    rent = max(0.0, *(supply.instances[:2] @ scarcity - supply.cost[:2]).tolist())
    assert (scarcity >= -1e-9).all()
    assert supply.instances[2] @ scarcity <= supply.cost[2] + 1e-6
    assert rent <= 1e-6 or np.isfinite(supply.available[0])
    rents = rent * supply.available[0] if rent > 1e-6 else 0.0
    assert min(one @ scarcity for one in found.demand) - rents == pytest.approx(least, abs=1e-5)
    short = Supply(supply.instances[:2], np.zeros(2, dtype=np.int64), supply.cost[:2], np.array([0.0]))
    two = vertices([np.array([1, 1]), np.array([0, 3])], [3, 3])
    assert mixed_demand._scarcity(short, two) == (np.inf, None)
    assert mixed_demand._whole(short, two, 0) is None
