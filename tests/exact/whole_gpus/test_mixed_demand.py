"""Which mixtures are handed on: the one of fewest partitions where it costs no more, and the cheapest."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.whole_gpus import mixed_demand
from sliceplan.solver.exact.whole_gpus.mixed_demand import MixedDemand, mixed_demands

PROVEN = SimpleNamespace(
    covers=SimpleNamespace(counts=np.array([[1, 0], [0, 2], [3, 1]]), members=np.array([2, 5])),
    prices=SimpleNamespace(gpu_cost=np.array([10])),
    to_waste=lambda _steps: 0,
)


SUPPLY = SimpleNamespace(instances=np.zeros((1, 2)))


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
    assert list(mixed_demands(SUPPLY, PROVEN, 20)) == found


def of_programs(monkeypatch, best, fewest):
    """Lets the programs find these mixtures."""
    found = SimpleNamespace(add=lambda *_: False, demand=[])
    monkeypatch.setattr(mixed_demand, "first_vertices", lambda _: found)
    monkeypatch.setattr(mixed_demand, "directions", lambda *_, **__: ())
    monkeypatch.setattr(mixed_demand, "cheapest_parts", lambda *_: SimpleNamespace(steps=0.0, scarcity=None))
    monkeypatch.setattr(mixed_demand, "cheapest_gpus", lambda *_: None)
    monkeypatch.setattr(mixed_demand, "carried_by_counts", lambda *_: best)
    monkeypatch.setattr(mixed_demand, "fewest_partitions", lambda *_: fewest)
    monkeypatch.setattr(mixed_demand, "_demand", lambda one, _: one)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 9)), min_size=1, max_size=8),
    st.lists(st.none() | st.integers(0, 12), min_size=3, max_size=3),
)
def test_parts_of_gpus_are_rounded_up_as_far_as_the_counts_allow(cuts, most):
    """Property: no number is a whole one off, and a type is short of room only where all its GPUs are taken."""
    gpu_type, parts = np.array([g for g, _ in cuts]), np.array([x for _, x in cuts])
    floors = [int(np.floor(parts[gpu_type == g] + 1e-9).sum()) for g in range(3)]
    available = np.array([np.inf if n is None else max(n, floors[g]) for g, n in enumerate(most)])
    whole = mixed_demand._rounded(SimpleNamespace(gpu_type=gpu_type, available=available), parts)
    assert (np.abs(whole - parts) < 1).all()
    for g in range(3):
        own = gpu_type == g
        assert whole[own].sum() <= available[g]
        if (whole[own] < parts[own] - 1e-8).any():
            assert whole[own].sum() == available[g]
            down, up = whole[own] < parts[own] - 1e-8, whole[own] > parts[own] + 1e-8
            above = parts[own] - np.floor(parts[own] + 1e-9)
            assert not up.any() or above[down].max() <= above[up].min()


@pytest.mark.parametrize(
    ("steps", "found", "dearer"),
    [
        ([30, 25, 27, 26], [25], [0, 30, 25, 25]),
        ([None, 26, None, 25], [25], [0, 20, 26, 26]),
        ([30, 22], [22], [0, 30]),  # two steps are a fifth of a GPU
        ([23, 20], [20], [0, 23]),
        ([20], [20], [0]),
        ([None] * 4, [], [0, 20, 20, 20]),
    ],
)
def test_the_cheapest_of_all_rounds_is_taken_and_there_are_no_more_once_it_is_near_what_is_proven(
    monkeypatch, steps, found, dearer
):
    """Further directions may waste what the best so far does, or what is proven leaves."""
    of_programs(monkeypatch, None, None)
    left, asked = list(steps), []

    def carried(_, __, at_least, dearer):
        asked.append((at_least, dearer))
        cost = left.pop(0)
        return None if cost is None else mixture(cost, 0, 1)

    monkeypatch.setattr(mixed_demand, "carried_by_counts", carried)
    proven = SimpleNamespace(covers=PROVEN.covers, prices=PROVEN.prices, to_waste=lambda steps: steps)
    assert [one.steps for one in mixed_demands(SUPPLY, proven, 20)] == found
    assert asked == [(20, one) for one in dearer]
