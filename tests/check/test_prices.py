"""`check` finds prices of partitions that are no solution of the dual program, or of sizes that nobody offers."""

from types import SimpleNamespace

import pytest
from problems.instances import problem_of
from support.solved import Solved

from sliceplan.solver.check import check
from sliceplan.solver.check import prices as prices_module
from sliceplan.solver.check.prices import _is_offered, _wrong_rent
from sliceplan.solver.check.room import most_worth
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import placement_rules, valid_layouts
from sliceplan.solver.model.plan import Plan, SizePrice
from sliceplan.solver.model.price_book import GpuPrice
from sliceplan.solver.model.sharing import cores_in_words

MIXED = example_problems()["mixed"]
"""A100 under MIG, V100 and T4 under MPS or whole; there are too few T4, so they have a rent."""
CUT = problem_of([{"model": "resnet50", "rate_rps": 900, "slo_ms": 200}])
PLANS = Solved(MIXED, CUT)
A100, T4 = "A100-80GB", "T4"


def found(problem, change):
    plan = Plan.model_validate_json(PLANS[problem.name]).model_dump(mode="json")
    change(plan["prices"])
    said = [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]
    return [one for one in said if "prices" in one]


def size(prices, gpu, mig_profile):
    return next(one for one in prices["sizes"] if (one["gpu"], one["mig_profile"]) == (gpu, mig_profile))


def dearer(gpu, mig_profile, times):
    def change(prices):
        size(prices, gpu, mig_profile)["usd_per_hour"] *= times

    return change


def rents(gpu, usd):
    return lambda prices: prices["rents"].update({gpu: usd})


def other_size(**fields):
    return lambda prices: prices["sizes"][0].update(fields)


@pytest.mark.parametrize("problem", [MIXED, CUT], ids=lambda problem: problem.name)
def test_the_prices_of_the_exact_planner_are_right(problem):
    assert Plan.model_validate_json(PLANS[problem.name]).prices.rents
    assert found(problem, dict.copy) == []


@pytest.mark.parametrize(
    ("problem", "change", "message"),
    [
        (CUT, dearer(A100, "1g.10gb", 1.001), "a A100-80GB, of which there is no limit, is worth"),
        (CUT, dearer(A100, "7g.80gb", 1 + 1e-5), "a A100-80GB, of which there is no limit, is worth"),
        (
            CUT,
            lambda prices: prices["rents"].update({A100: 0.01}),
            "has 0.010000 for A100-80GB; the prices of its sizes give 0.000000",
        ),
        (CUT, lambda prices: prices["rents"].clear(), "prices.rents lacks A100-80GB"),
        (CUT, lambda prices: prices["shared"].update({A100: 1.0}), "prices.shared lists A100-80GB: expected nothing"),
        (CUT, lambda prices: prices["sizes"].append(prices["sizes"][0]), "2 times"),
        (CUT, other_size(mig_profile="9g.90gb"), "prices.sizes lists A100-80GB 9g.90gb, which the fleet does not"),
        (CUT, other_size(mig_profile=None), "prices.sizes lists whole A100-80GB, which the fleet does not offer"),
        (CUT, other_size(gpu="no-such-gpu"), "prices.sizes lists no-such-gpu"),
        (MIXED, lambda prices: prices["rents"].update({T4: 0.0}), "prices.rents has 0.000000 for T4"),
        (MIXED, lambda prices: prices["rents"].update({T4: -1.0}), "prices.rents has -1.000000 for T4"),
        (MIXED, lambda prices: prices["shared"].pop(T4), "prices.shared lacks T4"),
        (MIXED, lambda prices: prices["shared"].update({T4: -0.5}), "prices.shared has -0.5 for T4"),
    ],
)
def test_wrong_prices_of_partitions_are_found(problem, change, message):
    assert any(message in one for one in found(problem, change)), found(problem, change)


@pytest.mark.parametrize("gpu", ["A100-80GB", "A30-24GB", "RTX-PRO-5000-48GB"])
def test_the_worth_of_a_gpu_is_that_of_its_dearest_layout(gpu):
    rules = placement_rules(load_catalogue()[gpu].mig)
    for turn in range(4):
        usd = {rule.name: ((7 * i + 3 * turn) % 11) / (9 - turn) for i, rule in enumerate(rules.profiles)}
        dearest = max(sum(usd[placement.profile] for placement in layout) for layout in valid_layouts(rules))
        assert most_worth(gpu, usd) == pytest.approx(dearest)


def test_sizes_of_a_gpu_that_cannot_be_cut_are_not_offered_whatever_the_fleet_says():
    fleet = [{"gpu": "T4", "sharing": ["mig", "exclusive"]}]
    problem = problem_of([{"model": "vgg19", "rate_rps": 20, "slo_ms": 200}], fleet=fleet)
    entry = problem.fleet[0]
    offered = {
        name: _is_offered(entry, SizePrice(gpu="T4", mig_profile=name, usd_per_hour=1.0)) for name in (None, "1g")
    }
    assert offered == {None: True, "1g": False}


@pytest.mark.parametrize(
    ("cost", "rent", "wrong"),
    [
        (2.0, 0.5, None),
        (2.0, 0.5 + 2e-6, None),
        (2.0, 0.5 + 4e-6, "prices.rents has 0.500004 for T4; the prices of its sizes give 0.500000"),
        (3.0, 0.0, None),
        (None, 0.5, None),
        (2.0, None, None),
    ],
)
def test_a_rent_is_what_a_gpu_is_worth_above_its_cost_and_is_judged_where_there_are_both(
    monkeypatch, cost, rent, wrong
):
    monkeypatch.setattr(prices_module, "usd_per_hour_of", lambda _: {} if cost is None else {T4: cost})
    stated = SimpleNamespace(sizes=[], shared={T4: 2.5}, rents={} if rent is None else {T4: rent})
    entry = SimpleNamespace(gpu=T4, cpu=None, available=3)
    assert [one.message for one in _wrong_rent(None, stated, entry)] == ([wrong] if wrong else [])


@pytest.mark.parametrize(("cost", "worth"), [(200.0, None), (192.0, None), (190.0, "192.000000")])
def test_a_cpu_is_worth_its_partitions_of_the_sizes_that_it_may_have(monkeypatch, cost, worth):
    """Of 96 cores at 2 USD each; what is no size of it counts for nothing, whatever its price."""
    monkeypatch.setattr(prices_module, "usd_per_hour_of", lambda _: {"x": cost})
    prices = {cores_in_words(1): 2.0, cores_in_words(9): 999.0}
    sizes = [SimpleNamespace(gpu="x", mig_profile=name, usd_per_hour=usd) for name, usd in prices.items()]
    stated = SimpleNamespace(sizes=sizes, shared={}, rents={"x": 0.0})
    entry = SimpleNamespace(gpu="x", cpu="EPYC-9R14", available=None)
    said = [one.message for one in _wrong_rent(None, stated, entry)]
    assert len(said) == (worth is not None)
    assert all(f"is worth {worth} at prices.sizes" in one for one in said)
    assert [_is_offered(entry, one) for one in sizes] == [True, False]


def test_sizes_of_a_type_that_is_not_in_the_fleet_are_not_offered():
    assert not _is_offered(None, SizePrice(gpu=T4, mig_profile=None, usd_per_hour=1.0))


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ((None, None, None), "2.000000 by the problem itself"),
        (("b", "2026-11-01", None), "2.000000 by b of 2026-11-01"),
        (("b", "2026-11-01", 0.5), "2.000000 by b of 2026-11-01 times 0.5"),
    ],
)
def test_a_price_is_said_with_where_it_comes_from(origin, words):
    stated = dict(zip(("book", "date", "factor"), origin, strict=True))
    assert prices_module._said(GpuPrice(gpu=T4, usd_per_hour=2.0, **stated)) == words
