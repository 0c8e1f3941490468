"""The most requests/s in parts of partitions, and its prices, against every plan of drawn problems."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.drawn_cuts import drawn_cuts, most_of, told

from sliceplan.solver.exact.capacity import price_limit as price_limit_module
from sliceplan.solver.exact.capacity import relaxation as module
from sliceplan.solver.exact.capacity.price_limit import price_limit
from sliceplan.solver.exact.capacity.relaxation import relaxation


@pytest.mark.parametrize("seed", range(16))
def test_the_best_solution_in_parts_keeps_the_rates_and_its_prices_prove_just_what_it_carries(seed, monkeypatch):
    """Property: so no solution in parts carries more, and no plan; which may have fewer replicas than it must."""
    told(monkeypatch, module, price_limit_module)
    problem, draw = drawn_cuts(seed, services=2), np.random.default_rng(seed)
    weights = draw.choice([1e-3, 1.0, 40.0], 2)
    found = relaxation(problem, weights)
    most = most_of(problem, weights, least_kept=False)
    if found is None:
        assert most is None
        return
    capacity, workloads = problem.capacity_rps, problem.problem.workloads
    assert found.partitions.shape == capacity.shape
    assert (found.partitions >= -1e-9).all()
    assert not found.partitions[capacity == 0].any()
    assert ((capacity * found.partitions).sum(axis=1) >= problem.required_rps * (1 - 1e-7)).all()
    assert all(
        one.max_replicas is None or own.sum() <= one.max_replicas + 1e-7
        for one, own in zip(workloads, found.partitions, strict=True)
    )
    # All partitions of a type are cut from GPUs: two of the first size take one, one of the second takes one at most.
    small, large, other = found.partitions.sum(axis=0)
    counts = {entry.gpu.name: entry.available for entry in problem.fleet}
    assert max((small + large) / 2, large) <= counts["A"] + 1e-7
    assert other <= counts["B"] + 1e-7
    value = float((weights[:, None] * capacity * found.partitions).sum())
    assert most is None or most <= value * (1 + 1e-7)
    assert (found.price >= 0).all()
    assert (found.rate_price >= 0).all()
    assert price_limit(problem, weights, found.price, found.rate_price).at(counts) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("times", [1e-12, 1e12])
def test_what_a_request_counts_in_any_unit_changes_no_price_but_by_that(times, monkeypatch):
    told(monkeypatch, module)
    problem = drawn_cuts(4)
    one, other = relaxation(problem, np.ones(3)), relaxation(problem, np.full(3, times))
    assert one.price.max() > 1
    assert other.price / times == pytest.approx(one.price)
    assert other.rate_price / times == pytest.approx(one.rate_price)
    assert other.partitions == pytest.approx(one.partitions)


def test_gpus_that_are_too_few_even_in_parts_have_no_solution(monkeypatch):
    told(monkeypatch, module)
    problem = drawn_cuts(0, limited=False)
    problem.required_rps = problem.required_rps * 1e3
    assert relaxation(problem, np.ones(3)) is None


@pytest.mark.parametrize(("times", "known"), [(1.0, True), (1.0001, False)])
def test_prices_without_measure_are_none(times, known, monkeypatch):
    """A solver may say that a program without a solution has one, at prices that are beyond all that is counted."""
    told(monkeypatch, module)

    def solved(counted, *, A_ub, b_ub, method):  # noqa: N803, ARG001
        marginals = np.zeros(len(b_ub))
        marginals[-1] = -module.LARGEST * times
        return SimpleNamespace(x=np.zeros(len(counted)), ineqlin=SimpleNamespace(marginals=marginals))

    monkeypatch.setattr(module, "linprog", solved)
    assert (relaxation(drawn_cuts(0), np.ones(3)) is not None) == known
