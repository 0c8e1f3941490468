"""What residents that carry a rate together cost at least, against every few of them."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from sliceplan.solver.exact.covers.dealt_rates import DealtRates
from sliceplan.solver.exact.dealt_costs import resident_covers as module
from sliceplan.solver.exact.dealt_costs.resident_covers import LEVELS, resident_covers
from sliceplan.solver.exact.dealt_costs.staircases import Staircase, in_order

RATE = 80.0


def drawn(draw):
    """Returns residents as (part, cost): few that carry all, many that carry next to half or a third of it."""
    near = draw.choice([0.2, 1 / 3, 0.5, 0.9, 1.0], int(draw.integers(1, 8)))
    parts = np.clip(near + draw.choice([0.0, 1e-3, -1e-3, 0.05], len(near)) * draw.random(len(near)), 0.01, 1.0)
    return [(float(part), float(draw.uniform(0.1, 0.3) + part * draw.uniform(0.3, 1.0))) for part in parts]


def steps_of(residents):
    """Returns the staircase of residents, by trying for each which others carry no less for no more."""
    kept = [
        (part, cost)
        for part, cost in set(residents)
        if not any(p >= part and c <= cost and (p, c) != (part, cost) for p, c in residents)
    ]
    part, cost = np.array(sorted(kept)).T
    return Staircase(part * RATE, cost, np.arange(len(part)))


def least_cost(residents, rest, most):
    """Returns the least cost of up to so many residents that carry a rest together."""
    few = (few for number in range(1, most + 1) for few in combinations_with_replacement(residents, number))
    return min((sum(c for _, c in own) for own in few if sum(p for p, _ in own) >= rest - 1e-12), default=np.inf)


def covers_of(residents, *, whole=False):
    return resident_covers([steps_of(residents)], np.array([RATE]), np.array([whole]))


@pytest.mark.parametrize("seed", range(3))
def test_no_few_residents_that_carry_a_rate_cost_less(seed):
    """Property; where one or two cost least it is just what they do."""
    draw, exact, several = np.random.default_rng(seed), 0, 0
    for _ in range(80):
        residents = drawn(draw)
        found = covers_of(residents)
        least = least_cost(residents, 1.0, 5)
        two = least_cost(residents, 1.0, 2)
        assert found.cost[0, LEVELS] <= least * (1 + 1e-12), residents
        exact += np.isfinite(two) and found.cost[0, LEVELS] == pytest.approx(two)
        several += found.cost[0, LEVELS] < two * (1 - 1e-9)
        for rest in draw.uniform(0.02, 1.0, 5):
            assert found.cost[0, max(int(rest * LEVELS), 1)] <= least_cost(residents, rest, 5) * (1 + 1e-12), (
                residents,
                rest,
            )
    assert exact > 30
    assert several > 10


def test_a_cover_has_the_cost_that_is_said_and_carries_the_rate_but_for_rounding_to_levels():
    draw = np.random.default_rng(5)
    for _ in range(100):
        residents = drawn(draw)
        steps, found = steps_of(residents), covers_of(residents)
        if np.isfinite(found.cost[0, LEVELS]):
            chosen = found.points[0]
            assert found.times[0] * steps.cost[chosen].sum() == pytest.approx(found.cost[0, LEVELS])
            assert found.times[0] * steps.rate_rps[chosen].sum() >= RATE * (1 - len(chosen) / LEVELS)


def test_a_cover_of_residents_of_one_level_each_has_as_many_as_there_are_levels():
    """Each carries hardly more than a level, so that as a fluid they would cost a little less."""
    found = covers_of([((1 + 5e-7) / LEVELS, 0.01)])
    assert found.cost[0, LEVELS] == pytest.approx(0.01 * LEVELS)
    assert found.points[0].tolist() == [0] * LEVELS
    assert found.times[0] == 1


def test_a_rate_of_many_residents_costs_no_less_than_as_a_fluid():
    """Each carries a thousandth of the rate: far less than a level."""
    found = covers_of([(0.001, 0.002), (0.002, 0.0045)])
    assert found.cost[0, LEVELS] == pytest.approx(2.0)
    assert found.cost[0, LEVELS // 2] == pytest.approx(1.0)
    assert found.times[0] == pytest.approx(1000)


def test_a_rate_that_may_not_be_split_has_one_resident():
    found = covers_of([(0.5, 0.1), (1.0, 0.9)], whole=True)
    assert found.cost[0, LEVELS] == 0.9
    assert covers_of([(0.5, 0.1), (1.0, 0.9)]).cost[0, LEVELS] == pytest.approx(0.2)
    assert covers_of([(0.5, 0.1)], whole=True).cost[0, LEVELS] == np.inf


def test_whom_no_residents_carry_has_no_cover():
    """Nobody alone, or as a whole too small a part; beside it another one stands as it would alone."""
    nothing = Staircase(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
    small, full = steps_of([(0.5, 0.1)]), steps_of([(1.0, 0.9)])
    found = resident_covers([nothing, small, full], np.full(3, RATE), np.array([False, True, True]))
    assert found.cost[:, LEVELS].tolist() == [np.inf, np.inf, 0.9]
    # Whatever part is asked for of a rate that may not be split, it is all of it.
    assert found.cost[:, 1:].tolist() == [[np.inf] * LEVELS, [np.inf] * LEVELS, [0.9] * LEVELS]
    assert found.cost[:, 0].tolist() == [0, 0, 0]
    assert [one.tolist() for one in found.points] == [[], [], [0]]


def test_a_staircase_has_the_cheapest_resident_within_each_limit():
    draw = np.random.default_rng(2)
    for _ in range(40):
        latency, rate = draw.uniform(1, 10, 60).round(), draw.uniform(1, 100, 60).round(-1)
        cost, limits = draw.random(60), draw.uniform(0, 12, 7)
        order = in_order(latency, rate, limits)
        for workload, own in order.staircases(cost):
            for asked in range(0, 101, 10):
                fits = cost[(latency <= limits[workload]) & (rate >= max(asked, 1))]
                step = np.searchsorted(own.rate_rps, max(asked, 1))
                assert (own.cost[step] if step < len(own.cost) else np.inf) == fits.min(initial=np.inf)


@pytest.mark.parametrize("types", [1, 2, 3])
def test_no_few_residents_on_several_types_cost_less(types):
    """Property: of all ways to carry a rest by up to four residents, whichever type each is on."""
    draw = np.random.default_rng(types)
    for _ in range(40):
        of_type = [drawn(draw) for _ in range(types)]
        found = [covers_of(own) for own in of_type]
        rates = DealtRates(np.array([[own.cost[0] for own in found]]))
        price = draw.uniform(0.2, 3.0, types)
        priced = [(part, cost * usd) for own, usd in zip(of_type, price, strict=True) for part, cost in own]
        for rest in (1.0, *draw.uniform(0.02, 1.0, 2)):
            cost, taken = rates.taken(np.array([rest]), price)
            assert cost[0] <= least_cost(priced, rest, 4 if len(priced) < 13 else 3) * (1 + 1e-9), (
                of_type,
                rest,
                price,
            )
            level = LEVELS if rest == 1 else min(max(int(rest * LEVELS), 1), LEVELS - 1)
            ways = (way for way in product(range(level + 1), repeat=types) if sum(way) == level)
            costs = (sum(usd * own.cost[0, at] for own, usd, at in zip(found, price, way, strict=True)) for way in ways)
            assert cost[0] == pytest.approx(min(costs))
            fluid = (rates.gpus[0] * price).min()
            assert fluid * rest <= cost[0] * (1 + 1e-9), (of_type, rest, price)
            if np.isfinite(cost[0]):
                assert taken[0] @ price == pytest.approx(cost[0])
            other = price * draw.uniform(0.3, 3.0, types)
            assert rates.taken(np.array([rest]), other)[0][0] <= taken[0] @ other * (1 + 1e-9) or cost[0] == np.inf


def test_what_partitions_leave_is_carried_at_least_cost_by_levels_of_all_types():
    """Property: of every split of the whole levels that are asked for, one at least, and all only of nearly all."""
    draw = np.random.default_rng(3)
    for _ in range(40):
        levels, types = int(draw.integers(3, 7)), int(draw.integers(1, 4))
        least = np.zeros((1, types, levels + 1))
        least[0, :, 1:] = np.cumsum(draw.uniform(0.1, 1, (types, levels)), axis=1)
        least[0, draw.random(types) < 0.2, 1:] = np.inf
        price = draw.uniform(0.5, 2, types)
        for rest in (0.01, 1 / levels, 0.4, 0.6, 1 - 1.5 / levels, 1 - 1 / levels, 0.999, 1.0):
            asked = levels if rest == 1 else max(1, int(rest * levels * (1 + 1e-9)))
            splits = [one for one in product(range(levels + 1), repeat=types) if sum(one) == asked]
            with np.errstate(invalid="ignore"):
                costs = [sum(least[0, g, n] * price[g] for g, n in enumerate(one)) for one in splits]
            cost, taken = DealtRates(least).taken(np.array([rest]), price)
            assert cost[0] == pytest.approx(min(costs)), (levels, rest)
            if np.isfinite(cost[0]):
                assert taken[0] @ price == pytest.approx(cost[0])


@pytest.mark.parametrize("seed", range(4))
def test_so_many_residents_or_more_cost_the_least_of_all_levels_that_sum_to_enough(monkeypatch, seed):
    """A of the module, by all multisets of levels; nothing is asked of no residents."""
    monkeypatch.setattr(module, "LEVELS", 5)
    draw = np.random.default_rng(seed)
    least = np.full((3, 6), np.inf)
    least[:, 1:] = np.cumsum(draw.choice([0.0, 0.1, 0.5, 1.0], (3, 5)) + 0.1, axis=1)
    least[2, 4:] = np.inf
    found = module._grown(least)
    for w in range(3):
        for fewest, (cost, _) in enumerate(found, start=1):
            for level in range(6):
                ways = (
                    sum(least[w, list(one)])
                    for number in range(fewest, 7)
                    for one in combinations_with_replacement(range(1, 6), number)
                    if sum(one) >= level
                )
                assert cost[w, level] == pytest.approx(0.0 if fewest == 1 and level == 0 else min(ways))
