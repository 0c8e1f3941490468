"""When two GPUs are the bound, by types that are told to be ruled out."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet import more_than_one_gpu as module
from sliceplan.solver.exact.fleet.fleet_by_prices import FleetPrices
from sliceplan.solver.exact.fleet.more_than_one_gpu import TWO, with_bound_of_two


@pytest.fixture
def bounded(monkeypatch):
    """Returns a function that tells the bound and its method, and which types were asked about."""

    def found(
        usd, ruled_out, *, bound=1.0, cost=None, gap=0.0, cut=False, can=True, services=3, most=np.inf, hosts=None
    ):
        asked = []
        entries = {
            gpu: SimpleNamespace(price_per_hour=price, gpu=SimpleNamespace(name=gpu)) for gpu, price in usd.items()
        }
        resolved = SimpleNamespace(
            fleet=list(entries.values()),
            fleet_by_name=entries,
            mps=dict.fromkeys(usd, "mps") | {gpu: gpu for gpu in usd},
            capacity_rps=np.full((services, 1), float(cut)),
            required_rps=np.ones(services),
            gap=gap,
        )
        monkeypatch.setattr(module, "can_deal", lambda _: can)
        monkeypatch.setattr(module, "most_to_pay", lambda _: most)
        monkeypatch.setattr(module, "classes_of", lambda _: range(services))
        monkeypatch.setattr(module, "asking_of", lambda _, gpu, __: (range((hosts or {}).get(gpu, services)), gpu))
        monkeypatch.setattr(module, "holds_not_all", lambda _, gpu, __: asked.append(gpu) or gpu in ruled_out)
        answer = with_bound_of_two(resolved, FleetPrices(None, bound, None), cost, deadline=9.0)
        return answer.bound, answer.method == TWO, asked

    return found


@pytest.mark.parametrize(
    ("usd", "ruled_out", "bound", "asked"),
    [
        ({"a": 1.0}, "a", 2.0, "a"),
        ({"a": 1.0}, "", 1.0, "a"),
        # A GPU of another type may hold all where the cheapest does not.
        ({"a": 1.0, "b": 1.5}, "a", 1.5, "ab"),
        ({"a": 1.0, "b": 1.5}, "ab", 2.0, "ab"),
        ({"a": 1.0, "b": 1.5}, "b", 1.0, "a"),
        # Two of the cheapest cost no more than one of the other.
        ({"a": 1.0, "b": 2.0}, "a", 2.0, "a"),
        ({"a": 1.0, "b": 2.5}, "a", 2.0, "a"),
    ],
)
def test_the_cheapest_single_gpu_that_may_hold_all_or_two_of_the_cheapest_are_the_bound(
    bounded, usd, ruled_out, bound, asked
):
    assert bounded(usd, ruled_out) == (bound, bound > 1.0, list(asked))


def test_a_type_below_the_bound_is_ruled_out_by_it_and_one_that_hosts_not_all_by_that(bounded):
    assert bounded({"a": 1.0, "b": 1.5}, "b", bound=1.2) == (2.0, True, ["b"])
    assert bounded({"a": 1.0, "b": 1.5}, "b", hosts={"a": 2}) == (2.0, True, ["b"])


@pytest.mark.parametrize(
    "told",
    [
        {"bound": 2.0},
        {"cost": 1.0},
        {"cost": 1.4, "gap": 0.5},
        {"cut": True},
        {"can": False},
        {"services": module.MOST_SERVICES + 1},
    ],
)
def test_it_is_asked_only_where_it_may_be_news(bounded, told):
    assert bounded({"a": 1.0}, "a", **told) == (told.get("bound", 1.0), False, [])


def test_where_there_are_too_few_gpus_for_that_there_is_no_plan(bounded):
    assert bounded({"a": 1.0}, "a", most=1.0) == (np.inf, True, ["a"])
    assert bounded({"a": 1.0}, "a", most=2.0) == (2.0, True, ["a"])
