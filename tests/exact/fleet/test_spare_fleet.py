"""Plans that keep partitions free: which search follows which, and what is kept of both, by answers that are told."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet import spare_fleet as module
from sliceplan.solver.exact.fleet.decomposition import PRICES, DecomposedAnswer
from sliceplan.solver.exact.fleet.spare_fleet import WITH_SPARES, WITHOUT_SPARES, solve_with_spares
from sliceplan.solver.exact.mig.cutting_stock import CuttingStockAnswer
from sliceplan.solver.exact.mps.program import NO_SHARES

NOTHING = np.zeros((1, 1))


def told(cost, bound, stopped="time_limit", solver="told"):
    """Returns an answer with a plan of one GPU that costs so much; None: it has none."""
    patterns = None if cost is None else ((SimpleNamespace(gpu=f"{cost}"), 1),)
    return CuttingStockAnswer(stopped, solver, bound, patterns, None if cost is None else NOTHING, NO_SHARES)


@pytest.fixture
def asked(monkeypatch):
    """Returns a function that gives the answer and what was said and asked: bound of prices, plan built, program's."""

    def solved(without, built, found, *, gap=0.0, any_plan=False):
        resolved = SimpleNamespace(
            gap=gap, fleet_by_name={f"{usd}": SimpleNamespace(price_per_hour=usd) for usd in (8.0, 9.0, 10.0)}
        )
        calls, said = {}, []

        def program(_, **options):
            calls["program"] = options
            return found

        def build(*arguments, **_):
            calls["built around"] = arguments[2]
            return built

        price = np.array([2.0])
        monkeypatch.setattr(
            module, "solve_by_prices", lambda *_, **__: DecomposedAnswer(without, PRICES, price, np.zeros(1))
        )
        monkeypatch.setattr(module, "cheapest_partitions", lambda _, price: ("cheapest", price))
        monkeypatch.setattr(module, "built_with_spares", build)
        monkeypatch.setattr(module, "solve_cutting_stock", program)
        answer = solve_with_spares(resolved, None, any_plan=any_plan, on_answer=said.append, time_limit_s=60.0)
        return answer, said, calls

    return solved


def told_of(one):
    """Returns cost, bound and end of an answer, and how its bound was found."""
    cost = None if one.answer.patterns is None else float(one.answer.patterns[0][0].gpu)
    return cost, one.answer.cost_bound, one.answer.stopped, one.method


@pytest.mark.parametrize(
    ("built", "found", "best"),
    [
        # The cheaper plan, and the greater bound.
        (told(10.0, None), told(9.0, 8.5), (9.0, 8.5, "time_limit", WITH_SPARES)),
        (told(9.0, None), told(10.0, 8.5), (9.0, 8.5, "time_limit", WITH_SPARES)),
        (told(9.0, None), told(10.0, 7.0), (9.0, 8.0, "time_limit", WITHOUT_SPARES)),
        (told(9.0, None), told(None, None), (9.0, 8.0, "time_limit", WITHOUT_SPARES)),
        (None, told(9.0, 9.0, "proved"), (9.0, 9.0, "proved", WITH_SPARES)),
        (None, told(9.0, 8.5, "gap_left"), (9.0, 8.5, "gap_left", WITH_SPARES)),
        (None, told(None, 8.5), (None, 8.5, "time_limit", WITH_SPARES)),
        # There is none, unless there is one.
        (None, told(None, None, "infeasible"), (None, None, "infeasible", WITH_SPARES)),
        (told(9.0, None), told(None, None, "infeasible"), (9.0, 8.0, "time_limit", WITHOUT_SPARES)),
    ],
)
def test_the_cheaper_plan_and_the_greater_bound_are_kept(asked, built, found, best):
    answer, said, calls = asked(told(8.0, 8.0, "proved"), built, found)
    assert told_of(answer) == best
    # First the bound, of which the plan without free partitions is none, then what is built.
    steps = [(None, 8.0, "time_limit", WITHOUT_SPARES)]
    steps += [] if built is None else [(float(built.patterns[0][0].gpu), 8.0, "time_limit", WITHOUT_SPARES)]
    assert [told_of(one) for one in said] == steps
    assert calls["program"]["known_bound"] == 8.0
    assert (calls["program"]["known_plan"] is None) == (built is None)
    assert calls["program"]["fewest_slices"]


@pytest.mark.parametrize(
    ("cost", "gap", "any_plan", "stopped"),
    [(8.0, 0.0, False, "proved"), (9.0, 0.2, False, "gap_reached"), (10.0, 0.0, True, "time_limit")],
)
def test_a_built_plan_that_is_good_enough_needs_no_program(asked, cost, gap, any_plan, stopped):
    built = told(cost, None)
    answer, _, calls = asked(told(8.0, 8.0, "proved"), built, None, gap=gap, any_plan=any_plan)
    assert "program" not in calls
    assert told_of(answer) == (cost, 8.0, stopped, WITHOUT_SPARES)


def test_where_no_plan_fits_at_all_none_fits_with_free_partitions(asked):
    answer, said, calls = asked(told(None, None, "infeasible"), None, None)
    assert told_of(answer) == (None, None, "infeasible", PRICES)
    assert not said
    assert not calls


@pytest.mark.parametrize("cost", [8.0, None])
def test_a_plan_is_built_around_the_one_without_free_partitions_or_the_cheapest_covers(asked, cost):
    _, _, calls = asked(told(cost, 8.0), None, told(9.0, 9.0, "proved"))
    around = calls["built around"]
    assert around is NOTHING if cost else around == ("cheapest", np.array([2.0]))
    assert 50 < calls["program"]["time_limit_s"] <= 60
