"""Prices in a box about others, against plain sums at prices that are drawn there; and how long steps are."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.shared_capacity import near_prices as module
from sliceplan.solver.exact.shared_capacity.asked_rows import AskedRows
from sliceplan.solver.exact.shared_capacity.near_prices import KnownRows, Steps, prices_near
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices


def drawn(seed):
    """
    Returns what is asked, weights, contents, GPUs and prices.

    The first service may have one replica, the second any number, the third up to three.
    """
    draw = np.random.default_rng(seed)
    rate = draw.uniform(1, 9, 3)
    most = np.array([1.0, np.inf, 3.0])
    asked = AskedRows(rate, rate, np.array([1.0, 1.0, float(draw.integers(0, 3))]), most, most == 1)
    number = int(draw.integers(1, 12))
    replicas = np.minimum(draw.integers(0, 3, (number, 3)), [1, 2, 2]).astype(float)
    carried = np.where(replicas > 0, draw.uniform(0.5, 12, (number, 3)), 0.0)
    carried[:, 0] = np.where(replicas[:, 0] > 0, np.maximum(carried[:, 0], rate[0]), 0.0)
    weights = draw.uniform(0.5, 2, 3)
    of_type = np.zeros((2, number))
    of_type[draw.integers(0, 2, number), np.arange(number)] = 1
    rows = KnownRows(carried @ weights, np.minimum(carried, replicas * rate), replicas, of_type)
    centre = MasterPrices(*(draw.uniform(0, 4, (3, 3)) * draw.integers(0, 2, (3, 3))))
    # Only what has a row has a price; and a replica is paid or pays.
    of_more = np.where(asked.limited & (centre.of_less == 0), centre.of_more, 0.0)
    centre = MasterPrices(np.where(asked.free, centre.of_rate, 0.0), of_more, centre.of_less)
    return asked, weights, rows, draw.integers(1, 4, 2).astype(float), centre


def limit_of(asked, rows, gpus, prices):
    """Returns the limit of prices.py, in plain sums, if the contents were all."""
    total = 0.0
    for count, of_type in zip(gpus, rows.of_type, strict=True):
        worth = [0.0]
        for i in np.flatnonzero(of_type):
            own = rows.value[i]
            for w in range(3):
                own += prices.of_rate[w] * rows.paid[i, w]
                own += (prices.of_less[w] - prices.of_more[w]) * rows.replicas[i, w]
            worth.append(own)
        total += count * max(worth)
    for w in range(3):
        total -= prices.of_rate[w] * asked.required_rps[w] + prices.of_less[w] * asked.least[w]
        total += prices.of_more[w] * (asked.most[w] if np.isfinite(asked.most[w]) else 0.0)
    return total


@pytest.mark.parametrize("seed", range(25))
def test_no_prices_in_the_box_are_better_than_those_found(seed):
    """Property: those found are in the box, and none of many that are drawn there, nor the centre, is better."""
    asked, weights, rows, gpus, centre = drawn(seed)
    draw = np.random.default_rng(1000 + seed)
    box = float(draw.choice([0.05, 0.5]))
    found = prices_near(asked, weights, rows, gpus, centre, box)
    assert min(found.of_rate.min(), found.of_more.min(), found.of_less.min()) >= 0
    best = limit_of(asked, rows, gpus, found)
    assert best <= limit_of(asked, rows, gpus, centre) + 1e-6
    # The box, said anew: of a service with one replica what being there with its rate is worth counts.
    own, least = [], []
    for w in range(3):
        paid = centre.of_less[w] - centre.of_more[w]
        own.append(abs(paid + weights[w] * asked.rate_rps[w] if w == 0 else paid))
        least.append(own[w] if w == 0 else own[w] + (weights[w] + centre.of_rate[w]) * asked.rate_rps[w])
    price_of_all = 0.05 * sum(weights + centre.of_rate) / 3
    for w in range(3):
        reach = box * max(own[w], 0.05 * sum(least) / 3)
        of_one, at = found.of_less[w] - found.of_more[w], centre.of_less[w] - centre.of_more[w]
        assert abs(of_one - at) <= reach + 1e-6 or (w == 1 and of_one == pytest.approx(max(at - reach, 0.0)))
        if w:
            assert abs(found.of_rate[w] - centre.of_rate[w]) <= box * max(centre.of_rate[w], price_of_all) + 1e-6
        else:
            assert found.of_rate[w] == 0
    for _ in range(60):
        of_rate, of_one = np.zeros(3), np.zeros(3)
        for w in range(3):
            reach = box * max(own[w], 0.05 * sum(least) / 3)
            of_one[w] = centre.of_less[w] - centre.of_more[w] + reach * draw.choice([-1, 1, draw.uniform(-1, 1)])
            if w:
                way = box * max(centre.of_rate[w], price_of_all) * draw.choice([-1, 1, draw.uniform(-1, 1)])
                of_rate[w] = max(centre.of_rate[w] + way, 0.0)
        of_more = np.where(asked.limited, np.maximum(-of_one, 0.0), 0.0)
        other = MasterPrices(of_rate, of_more, np.maximum(of_one, 0.0))
        assert best <= limit_of(asked, rows, gpus, other) + 1e-6


def test_where_the_solver_gives_no_prices_the_centre_stays(monkeypatch):
    asked, weights, rows, gpus, centre = drawn(0)
    monkeypatch.setattr(module, "linprog", lambda *_, **__: SimpleNamespace(x=None))
    assert prices_near(asked, weights, rows, gpus, centre, 0.1) is centre


@pytest.mark.parametrize(
    ("fall", "is_new", "box", "way"),
    [
        (1.0, True, 0.1, 0.4 / 1),  # as long as before, which is the longest
        (0.019, True, 0.075, 0.15),  # less than 0.15 of the 0.6 of a fifth of the way
        (0.031, True, 0.1, 0.2 / 0.75),
        (-1.0, True, 0.075, 0.15),
        (-1.0, False, 0.1, 0.4),
    ],
)
def test_steps_are_shorter_where_they_bring_little_and_longer_where_nothing_new_is_met(fall, is_new, box, way):
    begun = Steps(0.1, 0.4 if fall == 1.0 else 0.2)
    found = begun.after(fall, 1.0, is_new=is_new)
    assert (found.box, found.way) == (pytest.approx(box), pytest.approx(way))


def test_steps_have_ends():
    assert Steps(0.016, 0.11).after(-1.0, 1.0, is_new=True) == Steps(0.015, 0.1)
    assert Steps(0.016, 0.8).after(-1.0, 1.0, is_new=False) == Steps(0.016, 1.0)
    # A way on which nothing was met is no measure.
    assert Steps(0.1, 1.0).after(-1.0, 1.0, is_new=True).way == pytest.approx(0.3)
