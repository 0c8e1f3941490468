"""Prices of parts of contents, against every content of small GPUs: what they prove, and the cells they come with."""

import time

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, Oracle, Task
from oracles.shared_capacity_oracle import contents, most_capacity
from problems.mps_draws import small_gpus

from sliceplan.solver.exact.shared_capacity import cell_prices
from sliceplan.solver.exact.shared_capacity.alone import prices_of_units
from sliceplan.solver.exact.shared_capacity.cell_prices import prices_in_cells
from sliceplan.solver.exact.shared_capacity.content_limit import content_limit
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.prices import limit_at
from sliceplan.solver.performance.resolve import resolve

from .test_shared_capacity import SAME, counted

SEEDS = (2, 6, 18, 32)


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def priced(seed):
    """Returns a drawn problem, its profiles, figures and counts, and the prices in cells."""
    problem, profiles = counted(seed)
    resolved = resolve(problem, profiles)
    figures = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
    counts = {entry.gpu.name: entry.available for entry in resolved.fleet}
    weights = np.ones(len(problem.workloads))
    start = prices_of_units(figures, weights, resolved.required_rps, counts)
    found = prices_in_cells(resolved, figures, weights, counts, start, deadline=time.monotonic() + 60)
    return problem, profiles, resolved, figures, counts, found


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proven_in_the_cells_of_the_prices_is_no_less_than_any_plan(seed):
    """Property: by every content of every GPU; the cells hold each of them."""
    problem, profiles, resolved, figures, counts, found = priced(seed)
    weights = np.ones(len(problem.workloads))
    price, charge = found.prices.of(weights)
    assert min(own.min() for own in (found.prices.of_rate, found.prices.of_more, found.prices.of_less)) >= 0
    worth = {}
    oracle = Oracle(problem, profiles, STRICT)
    tasks = [
        Task(w, None, oracle.required[w] if one.max_replicas == 1 else 1e-12) for w, one in enumerate(problem.workloads)
    ]
    for own in figures:
        gpu = own.mps.gpu
        limit = content_limit(
            own, price, charge, within=found.cells[gpu], gap=0.0, cells=30, deadline=time.monotonic() + 60
        ).limit
        of_gpu = contents(oracle, tasks, [one.max_replicas or 99 for one in problem.workloads], gpu)
        assert limit >= max(float(price @ rates - charge @ residents) for rates, residents in of_gpu) * (1 - SAME)
        worth[gpu] = limit
    best = most_capacity(problem, profiles, weights, STRICT)
    assert best is None or limit_at(resolved, found.prices, worth, counts) >= best * (1 - SAME)


def test_without_time_one_program_of_the_first_cells_is_solved_and_its_prices_bound(monkeypatch):
    """It is begun in any case, so that there are prices; nothing is divided or joined after that."""
    monkeypatch.setattr(cell_prices, "_divided", None)
    solved, calls = cell_prices._solved, []
    monkeypatch.setattr(cell_prices, "_solved", lambda *of: calls.append(of) or solved(*of))
    problem, profiles = counted(SEEDS[0])
    resolved = resolve(problem, profiles)
    figures = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
    counts = {entry.gpu.name: entry.available for entry in resolved.fleet}
    weights = np.ones(len(problem.workloads))
    start = prices_of_units(figures, weights, resolved.required_rps, counts)
    found = prices_in_cells(resolved, figures, weights, counts, start, deadline=0.0)
    assert len(calls) == 1
    assert set(found.cells) == {one.mps.gpu for one in figures}
    # Where the program is not solved in time, the prices are those to begin with.
    monkeypatch.setattr(cell_prices, "_solved", lambda *_: None)
    found = prices_in_cells(resolved, figures, weights, counts, start, deadline=0.0)
    assert found.prices is start


@pytest.mark.parametrize("seed", SEEDS)
def test_the_program_is_worth_no_less_than_any_plan(seed, monkeypatch):
    """Property: every plan is one of its solutions, in the first cells and in parts of them."""
    values = []
    solved = cell_prices._solved

    def noted(*arguments):
        answer = solved(*arguments)
        values.append(answer.value)
        return answer

    monkeypatch.setattr(cell_prices, "_solved", noted)
    problem, profiles, *_ = priced(seed)
    best = most_capacity(problem, profiles, np.ones(len(problem.workloads)), STRICT)
    # The last program of a round has all residents that it could use.
    assert best is None or values[-1] >= best * (1 - 1e-5)
