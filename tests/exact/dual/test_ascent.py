"""The parts of the search for prices: samples, how many covers are listed, and where cutting planes end."""

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual import lagrangian_dual as module
from sliceplan.solver.exact.dual.supply import Supply, feasible


def demands_of(part):
    part = np.array(part, dtype=float)
    return Demands(part, np.ones(len(part), dtype=np.int64), np.full(len(part), NO_LIMIT))


def supply_of(available=inf):
    """Returns one type, cut into two of the first size, or one of the second."""
    return Supply(np.array([[2, 0], [0, 1]]), np.zeros(2, dtype=np.int64), np.full(2, 6.0), np.array([available]))


def test_a_sample_has_the_least_and_the_greatest_rate_and_its_part_of_gpus_and_of_what_is_enough():
    demands = demands_of([[1 / (w + 1), 1.0] for w in range(8)])
    part, fewer, enough = module._sample(demands, supply_of(12.0), 2, 40.0)
    assert part.part[:, 0].tolist() == pytest.approx([1, 1 / 8])
    assert (fewer.available.tolist(), enough) == ([3.0], 10.0)
    assert module._sample(demands, supply_of(), 8, inf)[0].part.tolist() == demands.part.tolist()
    assert module._sample(demands, supply_of(), 4, inf)[1].available.tolist() == [inf]


@pytest.mark.parametrize(
    ("numbers", "slack"),
    [
        ([6], 0.4),  # as many as there may be
        ([7, 6], 0.1),
        ([None, 7, 6], 0.025),  # too many to be counted
        ([9] * 9, 0.0),
    ],
)
def test_covers_are_listed_as_far_from_the_cheapest_as_there_are_not_too_many(monkeypatch, numbers, slack):
    """Two workloads at three covers each; the second has so many partitions that an eighth will do."""
    demands = demands_of([[0.5, 1.0], [0.1, 0.01]])
    asked, left = [], list(numbers)

    def number_of_covers(few, _, own, **__):
        assert (few.part == demands.part).all()
        asked.append(own.tolist())
        return left.pop(0)

    monkeypatch.setattr(module, "number_of_covers", number_of_covers)
    monkeypatch.setattr(module, "LISTED", 0.08)
    found = module._slack(demands, np.ones(2), 0.4, 3)
    assert found.tolist() == pytest.approx([slack, slack / 8])
    assert asked[0] == pytest.approx([0.4, 0.05])
    assert asked[-1] == found.tolist()


class Concave:
    """The least of some planes, which is what cheapest covers cost at prices; tells where it was asked."""

    box = None

    def __init__(self, *planes):
        self.planes, self.asked = np.array(planes, dtype=float), []

    def demand(self, price):
        self.asked.append(price)
        best = int(np.argmin(self.planes @ price))
        return float(self.planes[best] @ price), self.planes[best]


def ascended(covers, *, supply=None, price=(1.0, 1.0), deadline=inf, **others):
    options = {"precision": 1e-9, "enough": inf, **others}
    return module._ascend(covers, supply or supply_of(), np.array(price), deadline, **options)


def test_planes_lead_to_the_prices_that_prove_most():
    """At prices of 3 and 6 what is asked for costs 12, and no prices at which cuts are worth 6 prove more."""
    search = ascended(Concave([4, 0], [0, 3]))
    assert (search.converged, search.bound) == (True, pytest.approx(12))
    assert search.price[0] == pytest.approx(3)
    assert 4 <= search.price[1] <= 6 + 1e-9


def test_where_gpus_are_few_their_rents_are_taken_off():
    """With one GPU at any rent r: 4 (6 + r) / 2 - r rises without end; a bound above what is enough ends it."""
    search = ascended(Concave([4, 0], [0, 9]), supply=supply_of(1.0), enough=50.0)
    assert 50 < search.bound < inf
    assert not search.converged
    value = min(4 * search.price[0], 9 * search.price[1])
    assert search.bound == pytest.approx(value - search.rent[0])
    assert search.rent[0] == pytest.approx(max(2 * search.price[0], search.price[1]) - 6)


def test_a_search_without_time_has_the_bound_of_where_it_begins():
    covers = Concave([4, 0], [0, 3])
    search = ascended(covers, deadline=0.0)
    assert (search.bound, search.converged, len(covers.asked)) == (3.0, False, 1)
    assert search.price.tolist() == [1.0, 1.0]


def test_prices_stay_in_the_box_of_a_pool_and_its_edge_is_no_proof():
    covers = Concave([4, 0], [0, 3])
    covers.box = (np.array([0.9, 0.9]), np.array([1.2, 1.1]))
    search = ascended(covers)
    assert (search.bound, search.converged) == (pytest.approx(3.3), False)
    assert all(((price >= 0.9 - 1e-9) & (price <= [1.2 + 1e-9, 1.1 + 1e-9])).all() for price in covers.asked)
    covers.box = (np.array([0.9, 0.9]), np.array([9.0, 9.0]))
    assert ascended(covers).converged


def test_demands_that_were_seen_are_planes_to_begin_with(monkeypatch):
    """With both planes known the first prices that they like best are the best, but for how far a step may go."""
    covers = Concave([4, 0], [0, 3])
    planes = [np.array([4.0, 0]), np.array([0, 3.0])]
    begun = ascended(covers, price=(2.9, 4.1), seen=planes)
    assert begun.bound == pytest.approx(12)
    assert [one.tolist() for one in begun.demands[:2]] == [[4, 0], [0, 3]]
    monkeypatch.setattr(module, "MOST_SEEN", 1)
    assert [one.tolist() for one in ascended(covers, seen=planes, deadline=0.0).demands] == [[0, 3], [0, 3]]


@pytest.mark.parametrize("workloads", [2, 8])
def test_programs_have_as_many_covers_as_they_can_do_with(monkeypatch, workloads):
    seen = []
    monkeypatch.setattr(module, "MOST_LISTED", 6)
    monkeypatch.setattr(module, "_slack", lambda *of: seen.append(of[2:]) or "own")
    monkeypatch.setattr(module, "listed_covers", lambda *of: of[1:])
    demands = SimpleNamespace(least=np.zeros(workloads))
    assert module.covers_for_programs(demands, "price") == ("price", "own")
    assert seen == [(module.SLACK, 6 / workloads)]
    module.covers_for_programs(demands, "price", most_each=0.5)
    assert seen[1] == (module.SLACK, 0.5)


def drawn(seed):
    """Returns planes, cuts of two types with two sizes each, of which there are so many or any number, and prices."""
    draw = np.random.default_rng(seed)
    cuts = np.array([[2, 0, 0, 0], [1, 1, 0, 0], [0, 0, 3, 0], [0, 0, 1, 2]])
    available = draw.choice([inf, 2.0, 3.0], 2)
    supply = Supply(cuts, np.array([0, 0, 1, 1]), draw.uniform(1, 7, 4), available)
    planes = draw.integers(0, 9, (5, 4)) + 0.5
    if np.isfinite(available).all():
        planes = 0.2 * planes  # else rents might rise without end
    return planes, supply, feasible(supply, draw.uniform(0.1, 2, 4))


def greatest(planes, supply, *, at_least=None, rents=None):
    """Returns the greatest bound of all prices, or the greatest sum of prices that keep a bound at these rents."""
    sizes, types = planes.shape[1], len(supply.available)
    of_type = np.eye(types)[supply.gpu_type]
    limited = np.isfinite(supply.available)
    scarcity = np.where(limited, supply.available, 0.0)
    rows = [[*supply.instances[q], *(-of_type[q]), 0.0] for q in range(len(supply.cost))]
    rows += [[*(-one), *np.zeros(types), 1.0] for one in planes]
    limits = [*supply.cost, *np.zeros(len(planes))]
    cost = [*np.zeros(sizes), *scarcity, -1.0]
    most = np.where(limited, np.inf if rents is None else rents, 0.0)
    if at_least is not None:
        rows, limits = [*rows, cost], [*limits, -at_least]
        cost = [*-np.ones(sizes), *np.zeros(types + 1)]
    bounds = [(0, None)] * sizes + [(0, None if one == np.inf else one) for one in most] + [(None, None)]
    return linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds)


def proven(planes, supply, search):
    """Returns what a search's prices prove, having seen to it that they may be."""
    worth = supply.instances @ search.price - supply.cost
    rent = np.array([max(0.0, worth[supply.gpu_type == g].max()) for g in range(2)])
    limited = np.isfinite(supply.available)
    assert (search.price >= 0).all()
    assert rent == pytest.approx(search.rent, abs=1e-12)
    assert (rent[~limited] <= 1e-9).all()
    return float((planes @ search.price).min()) - float(supply.available[limited] @ rent[limited])


@pytest.mark.parametrize("seed", range(24))
def test_the_search_ends_at_the_greatest_bound_of_all_prices_and_says_what_they_prove(seed):
    """Property: by another solver, of scarce types and of any number, from any prices."""
    planes, supply, price = drawn(seed)
    best = greatest(planes, supply)
    search = ascended(Concave(*planes), supply=supply, price=price, precision=1e-7)
    assert search.bound == pytest.approx(proven(planes, supply, search))
    if best.status == 3:  # GPUs are so few that any bound can be proven
        assert not search.converged
        return
    assert best.status == 0
    assert search.bound <= -best.fun * (1 + 1e-7)
    assert search.converged
    assert search.bound == pytest.approx(-best.fun, rel=1e-5)
    # Of prices that prove as much the highest.
    highest = module._highest(Concave(*planes), supply, search, inf)
    assert highest.converged
    assert highest.bound == pytest.approx(proven(planes, supply, highest))
    assert highest.bound >= search.bound * (1 - 1e-6)
    most = greatest(planes, supply, at_least=search.bound * (1 - 1e-6), rents=search.rent)
    assert search.price.sum() * (1 - 1e-6) <= highest.price.sum() <= -most.fun * (1 + 1e-3)
    nearly = greatest(planes, supply, at_least=search.bound * (1 - 1e-9), rents=search.rent)
    assert nearly.status != 0 or highest.price.sum() >= -nearly.fun * (1 - 1e-3)


def test_prices_stay_as_they_are_where_they_are_not_the_best_or_no_time_is_left(monkeypatch):
    planes, supply, price = drawn(0)
    search = ascended(Concave(*planes), supply=supply, price=price, precision=1e-7)
    covers = Concave(*planes)
    assert module._highest(covers, supply, replace(search, converged=False), inf).price is search.price
    assert module._highest(covers, supply, search, 0.0) is search
    monkeypatch.setattr(module, "_master", lambda *_, **__: None)
    assert module._highest(covers, supply, search, inf) is search
    assert covers.asked == []
    # Nor where no prices of some rounds prove as much.
    monkeypatch.setattr(module, "_master", lambda *_, **__: (0.1 * search.price, 0.0))
    assert module._highest(covers, supply, search, inf) is search
    assert len(covers.asked) == module.MOST_RAISES


@pytest.mark.parametrize(
    ("workloads", "samples", "pooled", "raised"),
    [
        (2, [], False, True),
        (300, [], False, True),
        (301, [], True, True),
        (625, [], True, True),
        (626, [250], True, True),
        (5000, [250], True, True),
        (5001, [250, 2000], True, True),
        (8000, [250, 2000], True, True),
        (8001, [250, 2000], True, False),
        (40001, [250, 2000, 16000], True, False),
    ],
)
def test_first_prices_come_from_samples_and_few_workloads_are_enumerated(
    monkeypatch, workloads, samples, pooled, raised
):
    """Great rates are in parts in the smallest sample; prices of the largest are where the search begins."""
    steps = []

    def ascend(covers, supply, price, _, *, precision, enough):
        steps.append(("ascend", covers, supply, price, precision, enough))
        return module._Search(f"ascended {covers}", "rent", 5.0, True, [])

    def highest(covers, _, search, __):
        steps.append(("highest", covers, search.price))
        return replace(search, price=f"highest {search.price}")

    patched = {
        "feasible": lambda _, price: price,
        "proportional": lambda _: "proportional",
        "_Enumerated": lambda demands, weight=None: f"{demands.name}{weight or ''}",
        "_sample": lambda _, __, size, enough: (SimpleNamespace(name=size), f"of {size}", enough / size),
        "in_parts": lambda part: (SimpleNamespace(name=f"parts of {part.name}"), " weighed"),
        "_ascend": ascend,
        "_highest": highest,
        "_pooled": lambda _, __, price, ___, *, enough: (
            steps.append(("pooled", price, enough))
            or (module._Search("pooled", "rent", 5.0, True, []), ("of pool", 0.5))
        ),
        "covers_for_prices": lambda _, price: (f"covers at {price}", 0.25),
    }
    for name, value in patched.items():
        monkeypatch.setattr(module, name, value)
    demands = SimpleNamespace(shared=None, least=range(workloads), name="all")
    found = module._best_prices(demands, "supply", start=None, enough=8.0, deadline=inf)
    expected, price = [], "proportional"
    for size in samples:
        covers = "parts of 250 weighed" if size == 250 else str(size)
        expected.append(("ascend", covers, f"of {size}", price, 1e-5, 8.0 / size))
        price = f"ascended {covers}"
    if pooled:
        expected.append(("pooled", price, 8.0))
        price, listed = "pooled", ("of pool", 0.5)
    else:
        expected.append(("ascend", "all", "supply", price, module.PRECISION, 8.0))
        price = "ascended all"
    if raised:
        expected.append(("highest", "all", price))
        price = f"highest {price}"
    if raised or not pooled:
        # Covers are those of the last prices.
        listed = (f"covers at {price}", 0.25)
    assert steps == expected
    assert (found.price, found.rent, found.bound, found.converged) == (price, "rent", 5.0, True)
    assert (found.listed, found.slack) == listed


@pytest.mark.parametrize("samples", [False, True])
def test_where_gpus_may_be_shared_prices_come_from_a_sample_of_very_many(monkeypatch, samples):
    steps = []

    def ascend(covers, _, price, __, *, precision, enough):
        steps.append((covers, price, precision, enough))
        return module._Search(f"ascended {covers}", "rent", 5.0, True, [])

    patched = {
        "SAMPLE": 5,
        "_Enumerated": lambda demands: demands.name,
        "_sample": lambda _, __, size, enough: (SimpleNamespace(name=size), f"of {size}", enough / size),
        "_ascend": ascend,
        "_highest": lambda covers, _, search, __: replace(search, price=f"highest {covers}"),
    }
    for name, value in patched.items():
        monkeypatch.setattr(module, name, value)
    demands = SimpleNamespace(least=range(21 if samples else 20), name="all")
    search = module._enumerated(demands, None, "price", enough=10.0, deadline=inf)
    if samples:
        assert steps == [(5, "price", 1e-5, 2.0), ("all", "ascended 5", module.PRECISION, 10.0)]
        assert search.price == "ascended all"
    else:
        assert steps == [("all", "price", module.PRECISION, 10.0)]
        assert search.price == "highest all"


class Listing:
    """Covers that cost so much at prices, in a listing of one group of a workload."""

    def __init__(self, value):
        self.covers = SimpleNamespace(members=np.array([1.0]))
        self.value = value

    def least_cost(self, _):
        return np.array([self.value])


@pytest.fixture
def pooled(monkeypatch):
    """Returns a function that searches with a pool where prices prove so much, and hopes are these in turn."""

    def searched(proves, hopes, *, enough=inf, deadline=inf, rounds=200):
        told, left, boxes = [], list(hopes), []

        class Pool:
            def __init__(self, workloads):
                assert workloads == 1
                self.added = []

            def add(self, listed):
                self.added.append(listed)

        def ascend(pool, _, price, __, *, precision, enough, seen):
            assert (precision, enough) == (module.PRECISION / 100, inf)
            told.append((price.tolist(), len(pool.added), list(seen)))
            boxes.append([side.tolist() for side in pool.box])
            at, hoped = left.pop(0)
            return module._Search(np.array([at]), None, hoped, True, [*seen, at])

        monkeypatch.setattr(module, "MOST_ROUNDS", rounds)
        monkeypatch.setattr(module, "PooledCovers", Pool)
        monkeypatch.setattr(
            module, "covers_for_prices", lambda _, price: (Listing(proves[float(price[0])]), float(price[0]))
        )
        monkeypatch.setattr(module, "_ascend", ascend)
        supply = Supply(np.array([[1]]), np.zeros(1, dtype=np.int64), np.array([3.0]), np.array([2.0]))
        search, listing = module._pooled(SimpleNamespace(least=[1]), supply, np.array([1.0]), deadline, enough=enough)
        return search, listing, told, boxes

    return searched


def test_covers_are_listed_at_the_prices_that_promise_most_till_nothing_more_is_promised(pooled):
    """At 4 the rent of two GPUs is 1 each. The best prices are kept, with the covers that are near there."""
    search, (listed, slack), told, boxes = pooled(
        {1.0: 10.0, 2.0: 12.0, 4.0: 13.5, 2.5: 14.0}, [(2.0, 20.0), (4.0, 19.0), (2.5, 15.0), (2.6, 14 + 1e-7)]
    )
    assert (search.price.tolist(), search.bound, search.converged) == ([2.5], 14.0, True)
    assert (listed.value, slack) == (14.0, 2.5)
    assert told == [([1.0], 1, []), ([2.0], 2, [2.0]), ([2.0], 3, [2.0, 4.0]), ([2.5], 4, [2.0, 4.0, 2.5])]
    assert boxes == [[[pytest.approx(at * 0.95)], [pytest.approx(at * 1.05)]] for at in (1.0, 2.0, 2.0, 2.5)]
    assert search.rent.tolist() == [0.0]


def test_a_search_with_a_pool_ends_with_its_time_its_rounds_or_what_is_enough_and_is_then_no_best_one(pooled):
    proves, hopes = {1.0: 10.0, 2.0: 12.0, 4.0: 14.5}, [(2.0, 20.0), (4.0, 19.0), (4.0, 18.0)]
    for options, bound, asked in (
        ({"deadline": -inf}, 10.0, 0),
        ({"enough": 9.0}, 10.0, 0),
        ({"enough": 11.0}, 12.0, 1),
        ({"enough": 12.0}, 12.5, 2),
        ({"rounds": 1}, 10.0, 1),
        ({"rounds": 2}, 12.0, 2),
    ):
        search, _, told, _ = pooled(proves, hopes, **options)
        assert (search.bound, search.converged, len(told)) == (bound, False, asked), options


def test_covers_for_prices_say_the_least_part_by_which_some_may_be_dearer(monkeypatch):
    own = np.array([0.2, 0.1, 0.3])
    monkeypatch.setattr(module, "_slack", lambda *of: own if of[2:] == (module.LISTED, module.MOST_COVERS) else None)
    monkeypatch.setattr(module, "listed_covers", lambda *of: of)
    assert module.covers_for_prices("demands", "price") == (("demands", "price", own), 0.1)


def test_beside_shared_gpus_covers_near_the_cheapest_are_listed_and_none_is_left_out(monkeypatch):
    search = module._Search(np.array([3.0, 4.0]), np.array([0.5]), 9.0, True, [])
    asked = []
    monkeypatch.setattr(module, "_enumerated", lambda *of, **_: asked.append(of[2].tolist()) or search)
    monkeypatch.setattr(module, "cheapest_covers", lambda *of: of)
    monkeypatch.setattr(module, "cover_groups", lambda of: of)
    demands = SimpleNamespace(shared="shared", part=np.ones((3, 1)))
    supply = Supply(np.eye(2, dtype=int), np.zeros(2, dtype=np.int64), np.array([6.0, 7.0]), np.array([inf]))
    found = module._best_prices(demands, supply, start=np.array([-1.0, 0.5]), enough=inf, deadline=inf)
    assert (found.price is search.price, found.rent is search.rent) == (True, True)
    assert (found.bound, found.converged, found.slack) == (9.0, True, module.SLACK)
    assert found.listed.covers == (demands, search.price, module.SLACK)
    assert (found.listed.unlisted.shape, found.listed.part.shape) == ((0,), (0, 1))
    # Prices to begin with are above 0, and no cut is worth more than it costs.
    module._best_prices(demands, supply, start=None, enough=inf, deadline=inf)
    assert asked == [[pytest.approx(5e-7), 0.5], [6.0, 7.0]]


@pytest.mark.parametrize("weight", [None, [1.0, 2.5, 4.0]])
def test_workloads_that_stand_for_several_count_so_often(weight):
    """Two of the first size or one of the second, one of the first, and three of it, at 1 and 2.5."""
    demands = demands_of([[0.5, 1.0], [1.0, 1.0], [0.34, 0.0]])
    covers = module._Enumerated(demands, None if weight is None else np.array(weight))
    own = weight or [1.0] * 3
    value, taken = covers.demand(np.array([1.0, 2.5]))
    assert value == pytest.approx(2 * own[0] + own[1] + 3 * own[2])
    assert taken.tolist() == pytest.approx([2 * own[0] + own[1] + 3 * own[2], 0])
    value, taken = covers.demand(np.array([1.0, 1.5]))
    assert value == pytest.approx(1.5 * own[0] + own[1] + 3 * own[2])
    assert taken.tolist() == pytest.approx([own[1] + 3 * own[2], own[0]])
