"""Contents that are known, and what they are worth at prices, by plain sums."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.shared_capacity.asked_rows import AskedRows
from sliceplan.solver.exact.shared_capacity.gpu_contents import Content, Counted
from sliceplan.solver.exact.shared_capacity.known import KnownContents
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices


def content(gpu, *residents):
    """Returns a content of residents, each as workload and requests/s."""
    return Content(MpsGpu(gpu, tuple(Resident(w, 1, 10.0) for w, _ in residents)), tuple(rps for _, rps in residents))


def test_contents_are_there_once_and_worth_their_rates_less_their_residents():
    weights = np.array([1.0, 2.0])
    known = KnownContents(weights, np.full(2, np.inf))
    prices = MasterPrices(np.array([0.5, 0.0]), np.array([1.0, 4.0]), np.array([0.0, 1.0]))
    assert known.worth(prices).tolist() == []
    assert known.most(prices, ["a", "b"]) == {"a": 0.0, "b": 0.0}
    one, two = content("a", (0, 10.0), (0, 6.0)), content("a", (0, 3.0), (1, 20.0))
    poor, other = content("b", (1, 1.0)), content("b", (0, 7.0))
    known.add([one, two])
    known.add([two, poor, one])
    assert known.all() == [one, two, poor]
    assert len(known) == 3
    # 1.5 and 2 a request/s; 1 and 3 a resident.
    assert known.worth(prices) == pytest.approx([1.5 * 16 - 2, 1.5 * 3 - 1 + 2 * 20 - 3, 2 - 3])
    assert known.most(prices, ["a", "b", "c"]) == pytest.approx({"a": 40.5, "b": 0.0, "c": 0.0})
    known.add([other])
    assert known.most(prices, ["a", "b"])["b"] == pytest.approx(1.5 * 7 - 1)
    assert known.best_of("a", prices) == [two, one]
    assert known.best_of("b", prices) == [other, poor]


def test_near_contents_of_one_type_are_looked_for_among_those_that_were_known_before_any_was_added():
    """Of two types: what the first finds is not among those of which it is told whether they may be used."""
    known = KnownContents(np.array([1.0]), np.array([np.inf]))
    nothing = np.zeros(1)
    first, second, barred = content("a", (0, 2.0)), content("b", (0, 3.0)), content("b", (0, 9.0), (0, 1.0))
    known.add([first, second, barred])
    asked = []

    def type_of(gpu, found):
        def near(price, charge, best, _):
            asked.append((gpu, price.tolist(), charge.tolist(), list(best)))
            return [found]

        return SimpleNamespace(gpu=gpu, has=lambda one: one.gpu.gpu == gpu, near=near)

    fleet = [type_of("a", content("a", (0, 5.0), (0, 5.0))), type_of("b", content("b", *[(0, 6.0)] * 3))]
    usable = np.array([True, True, False])
    known.add_near(fleet, MasterPrices(nothing, nothing, nothing), 2, usable=usable, barred=np.array([True]))
    assert asked == [("a", [1.0], [np.inf], [first]), ("b", [1.0], [np.inf], [second])]
    assert len(known) == 5


def test_a_rate_is_paid_up_to_what_it_is_of_each_replica():
    """What a request/s counts is counted in any case; both as contents say it and as their rows do."""
    weights, rate = np.array([1.0, 2.0]), np.array([8.0, 100.0])
    known = KnownContents(weights, rate)
    some = [content("a", (0, 10.0), (0, 6.0)), content("a", (0, 3.0), (1, 20.0)), content("b", (1, 150.0))]
    known.add(some)
    prices = MasterPrices(np.array([0.5, 0.25]), np.array([1.0, 4.0]), np.array([0.0, 1.0]))
    assert some[0].rates_up_to(rate).tolist() == [14.0, 0.0]
    assert known.worth(prices) == pytest.approx(
        [16 + 0.5 * (8 + 6) - 2, 3 + 0.5 * 3 - 1 + 2 * 20 + 0.25 * 20 - 3, 2 * 150 + 0.25 * 100 - 3]
    )
    price, charge = prices.of(weights)
    own = [one.worth(Counted(weights, rate), price, charge) for one in some]
    assert own == pytest.approx(known.worth(prices).tolist())


def test_the_program_pays_for_a_replica_that_carries_more_than_its_rate_no_more_than_for_the_rate():
    """A tenth of a GPU would carry the rate; with whole replicas paid for, all of one is needed."""
    weights, rate = np.array([1.0, 1.0]), np.array([1.0, 1.0])
    many, few = content("a", (0, 10.0)), content("a", (1, 30.0))
    asked = AskedRows(rate, rate, np.zeros(2), np.full(2, np.inf), np.zeros(2, dtype=bool))
    for rates, most in ((np.full(2, np.inf), 0.1 * 10 + 1.9 * 30), (rate, 10 + 30)):
        known = KnownContents(weights, rates)
        known.add([many, few])
        # On two GPUs the first service needs a tenth of one, or one.
        found = known.prices(asked, {"a": 2})
        worth = known.most(found, {"a": 2})["a"] * 2 - float(found.of_rate @ rate + found.of_less.sum())
        assert worth == pytest.approx(most)
