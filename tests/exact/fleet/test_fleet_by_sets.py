"""Why a search by sets of residents ended, where the rates of services may be split."""

import time
from types import SimpleNamespace

import pytest
from problems.igniter_instances import table_3

from sliceplan.solver.exact.fleet import fleet_by_sets
from sliceplan.solver.exact.fleet.fleet_by_sets import list_sets, solve_by_sets
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve


@pytest.mark.parametrize(
    ("parts_ended", "stopped"),
    [
        (StopReason.TIME_LIMIT, StopReason.TIME_LIMIT),
        (StopReason.INFEASIBLE, StopReason.GAP_LEFT),
        (None, StopReason.GAP_LEFT),
    ],
)
def test_a_time_limit_that_ended_the_search_for_split_rates_is_why_a_gap_is_left(monkeypatch, parts_ended, stopped):
    """Of the two programs the first ends by itself, and the fluid's bound leaves a gap."""
    in_parts = None if parts_ended is None else SimpleNamespace(stopped=parts_ended, patterns=None)
    monkeypatch.setattr(fleet_by_sets, "_planned_in_parts", lambda *_: in_parts)
    resolved = resolve(table_3(), shipped_profiles())
    found = solve_by_sets(resolved, list_sets(resolved), lambda _: (), (), None, time.monotonic() + 60)
    assert found.gpus is not None
    assert found.stopped == stopped


@pytest.mark.parametrize(
    ("cost", "known", "greater"),
    [(5.0, 7.0, 7.0), (5.0, 4.0, 5.0), (None, 4.0, 4.0), (5.0, None, 5.0)],
)
def test_of_two_bounds_the_greater_one_counts(cost, known, greater):
    bound = fleet_by_sets._Bound(cost, "own", infeasible=False)
    assert fleet_by_sets._greater(bound, known and (known, "known")).cost == greater


def test_a_bound_that_proves_that_there_is_no_plan_is_greater_than_any():
    bound = fleet_by_sets._Bound(None, "own", infeasible=True)
    assert fleet_by_sets._greater(bound, (7.0, "known")) is bound
