"""Which mixtures are rounded and repaired, and when more covers are listed, with the answers of each step told."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.covers.cover_groups import CoverGroups
from sliceplan.solver.exact.whole_gpus import whole_plan as module
from sliceplan.solver.exact.whole_gpus.whole_plan import SHORTEST, WholePlan, rounded_plan, whole_plan

FEW, MORE = (SimpleNamespace(prices=SimpleNamespace(in_steps="prices"), name=name) for name in ("few", "more"))


@pytest.fixture
def looked(monkeypatch):
    """Returns a function that looks for a plan where those of few covers and of more cost so much; and what it did."""

    def plan(*costs, mixtures=("mixed", "mixed"), workloads=2, wider=True, late=False):
        did, left, mixed = [], list(costs), list(mixtures)

        def of_mixtures(own, _, proven, *, shortest, deadline):
            did.append((own, proven.name, tuple(shortest), deadline))
            cost = left.pop(0)
            return None if cost is None else SimpleNamespace(steps=cost)

        monkeypatch.setattr(module, "MANY", 2)
        monkeypatch.setattr(module, "mixed_demands", lambda _, __, at_least: mixed.pop(0) if at_least == 5 else None)
        monkeypatch.setattr(module, "_of_mixtures", of_mixtures)
        monkeypatch.setattr(module, "covers_for_programs", lambda _, prices, most_each: (prices, most_each))
        monkeypatch.setattr(
            module, "proven_covers", lambda *of: MORE if of[2] == ("prices", module.MOST_COVERS) else of
        )
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 10.0 if late else 8.0))
        demands = SimpleNamespace(least=np.zeros(workloads))
        found = whole_plan(demands, None, FEW, at_least=5, wider=wider, deadline=9.0)
        return None if found is None else found.steps, did

    return plan


@pytest.mark.parametrize(
    ("few", "more", "cost"), [(6, 5, 5), (6, 7, 6), (6, None, 6), (None, 6, 6), (None, None, None)]
)
def test_more_covers_are_listed_where_few_gave_no_plan_of_least_cost_and_the_cheaper_plan_is_taken(
    looked, few, more, cost
):
    first, again = ("mixed", "few", SHORTEST[:1], 9.0), ("mixed", "more", SHORTEST[:1], 9.0)
    assert looked(few, more) == (cost, [first, again])
    # Of many workloads longer lists of exchanges are tried then.
    assert looked(few, more, workloads=3) == (cost, [first, ("mixed", "more", SHORTEST, 9.0)])


@pytest.mark.parametrize(
    ("cost", "options", "tries"),
    [
        (5, {}, 1),
        (4, {}, 1),
        (6, {"late": True}, 1),
        (None, {"late": True}, 1),
        (None, {"mixtures": ((), "mixed"), "wider": False}, 1),
        (None, {"mixtures": ((), "mixed")}, 2),
        (None, {"wider": False}, 2),
    ],
)
def test_no_more_are_listed_at_least_cost_nor_without_time_nor_where_no_mixture_is_said_to_be_enough(
    looked, cost, options, tries
):
    found, did = looked(cost, None, **options)
    assert (found, len(did)) == (cost, tries)


@pytest.fixture
def repairing(monkeypatch):
    """Returns a function that lets so many repairs fail before one does not; it lists what was to be repaired."""

    def told(failing):
        asked = []

        def repaired(decision, _, proven, *, to_waste, number=None):
            assert proven.covers == "covers"
            asked.append((decision.times, decision.cuts, to_waste, number))
            return None if len(asked) <= failing else SimpleNamespace(times=f"times {len(asked)}", cuts="cuts")

        monkeypatch.setattr(module, "evenly_rounded", lambda _, mixed, turn: (mixed.name, turn))
        monkeypatch.setattr(module, "repaired", repaired)
        monkeypatch.setattr(module, "repaired_at_once", repaired)
        return asked

    return told


MIXTURES = [SimpleNamespace(name=name, steps=steps, cuts=f"cuts of {name}") for name, steps in (("a", 6), ("b", 8))]
PROVEN = SimpleNamespace(covers="covers", to_waste=lambda steps: 10 * steps - 65)


def test_the_first_mixture_is_rounded_in_several_ways_before_the_next_and_all_again_with_more_exchanges(repairing):
    ways = [("a", 0.0), ("a", 0.5), ("a", 0.25), ("a", 0.75), ("b", 0.0)]
    every = [
        ((name, turn), f"cuts of {name}", {"a": -5, "b": 15}[name], number)
        for number in (300, 1_000)
        for name, turn in ways
    ]
    for failing in (0, 4, 7, 10):
        asked = repairing(failing)
        found = module._of_mixtures(MIXTURES, None, PROVEN, shortest=(300, 1_000), deadline=np.inf)
        assert asked == every[: failing + 1]
        if failing == 10:
            assert found is None
            continue
        steps = {"a": 6, "b": 8}[every[failing][0][0]]
        assert (found.covers, found.steps, found.times, found.cuts) == ("covers", steps, f"times {failing + 1}", "cuts")


def test_without_time_one_way_is_tried_and_without_a_mixture_none(repairing):
    asked = repairing(10)
    assert module._of_mixtures(MIXTURES, None, PROVEN, shortest=(300,), deadline=-np.inf) is None
    assert len(asked) == 1
    assert module._of_mixtures([], None, PROVEN, shortest=(300,), deadline=np.inf) is None
    assert len(asked) == 1


def test_a_fraction_is_rounded_once_and_may_waste_no_less_than_nothing(repairing):
    assert rounded_plan(None, None, PROVEN) is None
    for mixed, to_waste in zip(MIXTURES, (0, 15), strict=True):
        asked = repairing(0)
        found = rounded_plan(mixed, None, PROVEN)
        assert asked == [((mixed.name, 0.0), mixed.cuts, to_waste, None)]
        assert (found.covers, found.steps, found.times, found.cuts) == ("covers", mixed.steps, "times 1", "cuts")
    repairing(1)
    assert rounded_plan(MIXTURES[0], None, PROVEN) is None


def test_workloads_take_the_covers_of_their_group_and_keep_their_own_where_it_is_taken():
    """Two groups with three and two workloads; of the first one covers are taken once and twice."""
    covers = CoverGroups(
        np.array([0, 1, 0, 1, 0]), np.array([[1, 0], [0, 2], [3, 0], [0, 1]]), np.array([0, 2]), np.array([2, 2])
    )
    plan = WholePlan(covers, 7, np.array([1, 2, 0, 2]), np.zeros(1, dtype=np.int64))
    assert sorted(plan.partitions(None)[[0, 2, 4]].tolist()) == [[0, 2], [0, 2], [1, 0]]
    assert plan.partitions(None)[[1, 3]].tolist() == [[0, 1], [0, 1]]
    for keeps in (0, 2, 4):
        kept = np.zeros((5, 2), dtype=np.int64)
        kept[keeps], kept[1] = (1, 0), (3, 0)  # what the other keeps is not taken
        found = plan.partitions(kept)
        assert found[keeps].tolist() == [1, 0]
        assert [found[w].tolist() for w in (0, 2, 4) if w != keeps] == [[0, 2], [0, 2]]
        assert found[[1, 3]].tolist() == [[0, 1], [0, 1]]
