"""What the steps of a search for most capacity say together, with steps of which the answers are told."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.capacity import answer as module
from sliceplan.solver.exact.capacity.answer import NO_GAP, concluded, most_capacity
from sliceplan.solver.exact.capacity.most_requests import MostRequests
from sliceplan.solver.exact.capacity.price_limit import PriceLimit
from sliceplan.solver.model.stop_reason import StopReason

INFEASIBLE, TIME_LIMIT, DONE = StopReason.INFEASIBLE, StopReason.TIME_LIMIT, StopReason.HEURISTIC_DONE


def problem(*, gap=0.0, counts=(("A", 2), ("B", None))):
    """Returns one service that a partition carries 10 requests/s of."""
    fleet = [SimpleNamespace(gpu=SimpleNamespace(name=gpu), available=count) for gpu, count in counts]
    settings = SimpleNamespace(capacity_weights="equal", keeps_spares=False)
    return SimpleNamespace(
        gap=gap, fleet=fleet, capacity_rps=np.array([[10.0]]), problem=SimpleNamespace(settings=settings)
    )


def limit(of_a_gpu, without=0, **more):
    return PriceLimit({"A": Fraction(of_a_gpu), "B": Fraction(more.get("of_b", 1))}, Fraction(without))


def of(partitions, *, stopped=DONE, limit=None):
    return MostRequests(stopped, "HiGHS", limit, (), None if partitions is None else np.array([[partitions]]))


@pytest.mark.parametrize(
    ("value", "most", "gap", "stopped", "ended", "said"),
    [
        (90.0, 100.0, 0.0, DONE, StopReason.GAP_LEFT, 100.0),
        (90.0, 100.0, 0.0, TIME_LIMIT, TIME_LIMIT, 100.0),
        (100.0, 100.0, 0.0, TIME_LIMIT, StopReason.PROVED, 100.0),
        # But for rounding they are the same, and what is said is what the plan has.
        (100 * (1 - NO_GAP / 2), 100.0, 0.0, DONE, StopReason.PROVED, 100 * (1 - NO_GAP / 2)),
        (100 * (1 - NO_GAP * 2), 100.0, 0.0, DONE, StopReason.GAP_LEFT, 100.0),
        (100 * (1 - NO_GAP / 2), 100.0, 0.2, DONE, StopReason.PROVED, 100 * (1 - NO_GAP / 2)),
        # A tenth is missing at most, as was asked for; a little more than that is not enough.
        (90.0, 100.0, 0.1, TIME_LIMIT, StopReason.GAP_REACHED, 100.0),
        (89.99, 100.0, 0.1, DONE, StopReason.GAP_LEFT, 100.0),
        (90.0, None, 0.5, DONE, StopReason.GAP_LEFT, None),
        (None, 100.0, 0.5, DONE, StopReason.GAP_LEFT, 100.0),
        (None, 100.0, 0.5, TIME_LIMIT, TIME_LIMIT, 100.0),
    ],
)
def test_a_plan_is_the_best_where_the_limit_is_what_it_carries(value, most, gap, stopped, ended, said):
    found = concluded(problem(gap=gap), of(3, stopped=stopped, limit=most), value, {"A": 7.0}, ("gpu",))
    assert (found.stopped, found.value, found.limit) == (ended, value, said)
    assert (found.solver, found.one_more, found.one_by_one) == ("HiGHS", {"A": 7.0}, ("gpu",))
    assert found.partitions.tolist() == [[3]]


@pytest.fixture
def steps(monkeypatch):
    """Returns a function that searches with these answers of the steps; it gives what was said and asked."""

    def searched(resolved, *, relaxed=True, prices=None, first=None, sharper=None, whole, solo=(10.0,)):
        said, asked = [], {}
        patched = {
            "solo_capacity": lambda _: np.array(solo),
            "relaxation": lambda *_: SimpleNamespace(price=0, rate_price=0) if relaxed else None,
            "price_limit": lambda *_: prices,
            "first_plan": lambda *_, **__: first,
            "cover_limit": lambda *of, **__: asked.update(cover=of[3]) or sharper,
            "most_requests": lambda *_, known, gap, **__: asked.update(known=known, gap=gap) or whole,
        }
        for name, value in patched.items():
            monkeypatch.setattr(module, name, value)
        return most_capacity(resolved, on_answer=said.append, time_limit_s=60.0), said, asked

    return searched


def same(number):
    return pytest.approx(number, rel=1e-12)


def test_the_least_limit_of_all_steps_is_said_and_what_one_more_gpu_may_add(steps):
    """Two of type A: the first prices prove 2 x 30, those of covers 2 x 20 + 5, the program 47 or 43."""
    for proven, said in ((47.0, 45.0), (43.0, 43.0), (None, 45.0)):
        whole = of(4, limit=proven)
        found, heard, asked = steps(problem(gap=0.02), prices=limit(30), first=of(3), sharper=limit(20, 5), whole=whole)
        assert (found.value, found.limit, found.stopped) == (40.0, same(said), StopReason.GAP_LEFT)
        assert found.one_more == {"A": same(65.0), "B": same(46.0)}
        assert [(one.value, one.limit, one.stopped) for one in heard] == [(30.0, same(45.0), StopReason.GAP_LEFT)]
        assert asked["cover"] == 30.0
        assert (asked["known"].partitions.tolist(), asked["gap"]) == ([[3]], 0.02)
    # Prices that prove more than those of covers stay.
    found, _, _ = steps(problem(), prices=limit(20), first=of(3), sharper=limit(20, 5), whole=of(4))
    assert (found.value, found.limit, found.stopped) == (40.0, 40.0, StopReason.PROVED)


def test_without_a_first_plan_prices_alone_are_said_and_without_prices_nothing(steps):
    found, heard, asked = steps(problem(), prices=limit(30), whole=of(4, limit=50.0))
    assert [(one.value, one.limit, one.solver) for one in heard] == [(None, same(60.0), module.NOTHING.solver)]
    assert heard[0].stopped is TIME_LIMIT
    assert ("cover" in asked, asked["known"]) == (False, None)
    assert (found.value, found.limit) == (40.0, 50.0)
    found, heard, _ = steps(problem(), relaxed=False, whole=of(None, stopped=TIME_LIMIT))
    assert [(one.value, one.limit, one.one_more) for one in (*heard, found)] == [(None, None, {})] * 2


def test_where_the_program_ends_without_a_plan_the_first_one_is_the_answer(steps):
    found, _, _ = steps(
        problem(), prices=limit(30), first=of(3, stopped=TIME_LIMIT), sharper=limit(30), whole=of(None, limit=50.0)
    )
    assert (found.value, found.limit, found.partitions.tolist()) == (30.0, 50.0, [[3]])
    # But not where the program says that there is none.
    found, _, _ = steps(problem(), prices=limit(30), first=of(3), sharper=limit(30), whole=of(None, stopped=INFEASIBLE))
    assert (found.stopped, found.value, found.limit, found.partitions) == (INFEASIBLE, None, None, None)


def test_a_service_that_no_gpu_carries_needs_no_search(steps):
    found, heard, asked = steps(problem(), solo=(10.0, 0.0), whole=None)
    assert (found.stopped, found.value, heard, asked) == (INFEASIBLE, None, [], {})
