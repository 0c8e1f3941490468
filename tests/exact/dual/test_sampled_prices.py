"""Prices of many workloads, which come from samples of them first: the same bound, and covers are listed few times."""

import pytest
from problems.instances import problem_of, random_problem

from sliceplan.solver.exact.dual import lagrangian_dual
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def solved(problem):
    return solve_by_prices(resolve(problem, shipped_profiles()), time_limit_s=60)


@pytest.fixture
def listings(monkeypatch):
    """Makes a few hundred workloads many; gives how many workloads had their covers listed each time."""
    monkeypatch.setattr(lagrangian_dual, "SAMPLES", (10, 20, 60))
    monkeypatch.setattr(lagrangian_dual, "MOST_ENUMERATED", 100)
    sizes, listed_covers = [], lagrangian_dual.listed_covers

    def counted(demands, price, slack):
        sizes.append(len(demands.least))
        return listed_covers(demands, price, slack)

    monkeypatch.setattr(lagrangian_dual, "listed_covers", counted)
    return sizes


@pytest.mark.parametrize("seed", range(4))
def test_samples_and_pools_change_nothing_about_the_bound(listings, monkeypatch, seed):
    problem = random_problem(400, seed)
    sampled = solved(problem)
    assert set(listings) == {400}
    assert 2 <= len(listings) <= 8
    monkeypatch.setattr(lagrangian_dual, "SAMPLES", ())
    monkeypatch.setattr(lagrangian_dual, "MOST_ENUMERATED", 400)
    assert sampled.answer.cost_bound == pytest.approx(solved(problem).answer.cost_bound, rel=1e-6)


@pytest.mark.parametrize("rate", [40.0, 333.0, 3000.0])
def test_prices_of_sizes_that_nobody_wants_do_not_keep_the_search_busy(listings, rate):
    """Alike services leave most prices open; listing their covers again and again finds nothing new."""
    services = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 200}] * 300
    assert solved(problem_of(services)).answer.stopped == "proved"
    assert len(listings) <= 4


@pytest.mark.parametrize("rate", [40.0, 3000.0, 90_000.0])
def test_services_of_great_rates_stand_for_several_in_the_first_sample(rate):
    problem = problem_of([{"model": "resnet50", "rate_rps": rate * (1 + i / 4), "slo_ms": 200} for i in range(12)])
    answer = solved(problem).answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lagrangian_dual, "SAMPLES", (5, 10))
        again = solved(problem).answer
    assert again.cost_bound == pytest.approx(answer.cost_bound, rel=1e-6)
