"""Prices of many workloads, which come from samples of them first: the same bound, and covers are listed few times."""

import pytest
from instances import problem_of, random_problem

from sliceplan.solver.exact import slice_prices
from sliceplan.solver.exact.decomposition import solve_by_prices
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def solved(problem):
    return solve_by_prices(resolve(problem, shipped_profiles()), time_limit_s=60)


@pytest.fixture
def listings(monkeypatch):
    """Makes a few hundred workloads many; gives how many workloads had their covers listed each time."""
    monkeypatch.setattr(slice_prices, "SAMPLE", 20)
    monkeypatch.setattr(slice_prices, "LARGE_SAMPLE", 60)
    sizes = []

    class Counted(slice_prices._Listed):
        def __init__(self, demands, centre):
            sizes.append(len(demands.least))
            super().__init__(demands, centre)

    monkeypatch.setattr(slice_prices, "_Listed", Counted)
    return sizes


@pytest.mark.parametrize("seed", range(4))
def test_samples_change_nothing_about_the_bound(listings, monkeypatch, seed):
    problem = random_problem(400, seed)
    sampled = solved(problem)
    assert listings[0] == 60
    assert listings[-1] == 400
    monkeypatch.setattr(slice_prices, "SAMPLE", 400)
    assert sampled.answer.cost_bound == pytest.approx(solved(problem).answer.cost_bound, rel=1e-6)


@pytest.mark.parametrize("rate", [40.0, 333.0, 3000.0])
def test_prices_of_sizes_that_nobody_wants_do_not_keep_the_search_busy(listings, rate):
    """Alike services leave most prices open; listing their covers again and again finds nothing new."""
    services = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 200}] * 300
    assert solved(problem_of(services)).answer.stopped == "proved"
    assert listings == [60, 300]
